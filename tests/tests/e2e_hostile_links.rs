//! Rows N of the faults at the ports of a real server: whatever others send, nobody else is disturbed.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::Command,
    thread,
    time::Duration,
};

use hq_tests::{Cluster, Process, eventually, hq_binary};

fn port(cluster: &Cluster, role: &str) -> u16 {
    cluster.record()[role]["port"].as_u64().unwrap() as u16
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// What the server says until it ends the link.
fn until_closed(mut stream: TcpStream) -> Vec<u8> {
    let mut answer = vec![];
    // A reset is an end as well.
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not closed");
    }
    answer
}

/// All that a client sends for a submit, as somebody on the network sees it.
fn recorded_submit(cluster: &Cluster) -> Vec<u8> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut way = cluster.record();
    let server = port(cluster, "client");
    way["client"]["host"] = "127.0.0.1".into();
    way["client"]["port"] = listener.local_addr().unwrap().port().into();
    cluster.put_record("tapped/hq-current/access.json", &way);
    let tap = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let mut server = connect(server);
        let (mut client_too, mut server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let back = thread::spawn(move || {
            let _ = std::io::copy(&mut server_too, &mut client_too);
            let _ = client_too.shutdown(Shutdown::Both);
        });
        let (mut sent, mut bytes) = (vec![], [0; 4096]);
        while let Ok(n @ 1..) = client.read(&mut bytes) {
            sent.extend(&bytes[..n]);
            let _ = server.write_all(&bytes[..n]);
        }
        let _ = server.shutdown(Shutdown::Both);
        back.join().unwrap();
        sent
    });
    hq_tests::finish(cluster.bare_command().args(["--server-dir", "tapped", "submit", "true"])).ok();
    tap.join().unwrap()
}

fn jobs(cluster: &Cluster) -> usize {
    cluster.json(&["job", "list", "--all"]).as_array().unwrap().len()
}

#[test]
fn n1_n2_silent_and_slow_peers_are_dropped_and_disturb_nobody() {
    let mut cluster = Cluster::start_with(&["--host", "localhost"]);
    let ports = ["client", "worker"].map(|role| port(&cluster, role));
    let silent: Vec<TcpStream> = (0..400).map(|i| connect(ports[i % 2])).collect();
    let hello = b"\x12\0\0\0hq-link\x01\x02\0\x01\0\x050.1.0";
    let slow: Vec<_> = ports
        .into_iter()
        .map(|port| {
            thread::spawn(move || {
                let mut stream = connect(port);
                // A byte at a time, for as long as somebody takes them. That it takes time is the attack: there is nothing to
                // wait for instead.
                let dripped = hello.iter().take_while(|byte| {
                    thread::sleep(Duration::from_millis(1500));
                    stream.write_all(&[**byte]).is_ok()
                });
                let dripped = dripped.count();
                until_closed(stream);
                dripped
            })
        })
        .collect();
    // While they are there, a worker registers and a client is answered.
    let _worker = cluster.worker("w1", "1");
    let job = cluster.submit(&["true"]);
    assert_eq!(cluster.finished(job)["info"]["task_stats"]["finished"], 1);
    for stream in silent {
        assert_eq!(until_closed(stream), b"", "nobody is told anything");
    }
    for slow in slow {
        assert!(slow.join().unwrap() < hello.len(), "five seconds are all that a beginning may take");
    }
}

#[test]
fn n3_n4_rubbish_closes_its_link_alone() {
    let mut cluster = Cluster::start_with(&["--host", "localhost"]);
    let rubbish: Vec<Vec<u8>> = [
        b"\xff\xff\xff\xff".to_vec(),
        (128_u32 << 20).to_le_bytes().to_vec(),
        b"GET / HTTP/1.1\r\nX: MARKER-OF-THE-PEER\r\n\r\n".to_vec(),
        [&64_u32.to_le_bytes()[..], &b"MARKER-OF-THE-PEER".repeat(4)[..64]].concat(),
        [&18_u32.to_le_bytes()[..], b"hq-link\x01\x02\0\x02\x01\x050.1.0\x10\0\0\0MARKER-OF-THE-PE"].concat(),
    ]
    .to_vec();
    for role in ["client", "worker"] {
        for bytes in &rubbish {
            let mut stream = connect(port(&cluster, role));
            stream.write_all(bytes).unwrap();
            let _ = stream.shutdown(Shutdown::Write);
            until_closed(stream);
        }
    }
    cluster.submit(&["true"]);
    let log = cluster.server().printed();
    assert!(!log.contains("MARKER") && !log.contains("panicked"), "{log}");
    let lines = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count();
    assert!(lines <= 2 * rubbish.len(), "more than a line for each: {log}");
}

#[test]
fn n6_n7_replayed_and_mirrored_links_get_nowhere() {
    let cluster = Cluster::start_with(&["--host", "localhost"]);
    let sent = recorded_submit(&cluster);
    assert_eq!(jobs(&cluster), 1);
    for port in ["client", "worker"].map(|role| port(&cluster, role)) {
        let mut stream = connect(port);
        stream.write_all(&sent).unwrap();
        until_closed(stream);
        // The same beginning, and then the server's own words.
        let hello = 4 + u32::from_le_bytes(*sent.first_chunk().unwrap()) as usize;
        let mut stream = connect(port);
        stream.write_all(&sent[..hello]).unwrap();
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&bytes[..n]).is_err() {
                break;
            }
        }
    }
    assert_eq!(jobs(&cluster), 1, "nothing was submitted a second time");
}

#[test]
fn n9_the_key_of_a_worker_submits_nothing() {
    let cluster = Cluster::start_with(&["--host", "localhost"]);
    for (role, port) in [("worker", "client"), ("worker", "worker")] {
        let full = cluster.record();
        let mut stolen = full.clone();
        stolen["client"] = full[role].clone();
        stolen["client"]["port"] = full[port]["port"].clone();
        cluster.put_record(&format!("{port}/hq-current/access.json"), &stolen);
        let output = hq_tests::finish(cluster.bare_command().args(["--server-dir", port, "submit", "true"]));
        let text = output.fails(1);
        assert!(text.lines().count() <= 2 && !text.contains("panicked"), "{text}");
    }
    assert_eq!(jobs(&cluster), 0);
}

/// Addresses on which a process listens, in the words of the kernel.
fn listens(server: &Process) -> Vec<String> {
    let fds = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().flatten();
    let links: BTreeSet<String> =
        fds.filter_map(|fd| Some(fs::read_link(fd.path()).ok()?.to_string_lossy().into_owned())).collect();
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default());
    let rows =
        tables.iter().flat_map(|table| table.lines().skip(1)).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let ours = rows.filter(|row| row[3] == "0A" && links.contains(&format!("socket:[{}]", row[9])));
    ours.map(|row| row[1].split(':').next().unwrap().to_owned()).collect()
}

#[test]
fn n10_it_listens_at_two_ports_and_where_it_was_told() {
    let mut cluster = Cluster::start();
    let all = listens(cluster.server());
    assert!(all.len() == 2 && all.iter().all(|address| address.chars().all(|c| c == '0')), "{all:?}");
    let mut cluster = Cluster::start_with(&["--host", "localhost"]);
    let local = listens(cluster.server());
    let is_loopback = |address: &String| address == "0100007F" || address.ends_with("01000000");
    assert!((2..=4).contains(&local.len()) && local.iter().all(is_loopback), "{local:?}");
}

/// A server that may have few files open: more peers than that take nothing from those that are there.
#[test]
fn n11_more_links_than_files() {
    let mut cluster = Cluster::new();
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"ulimit -n 48; exec "$0" --server-dir server server start --host localhost"#])
        .arg(hq_binary());
    command.current_dir(cluster.dir()).env("HOME", cluster.dir());
    let mut server = cluster.spawn(&mut command, "few-files");
    cluster.hq(&["server", "wait", "--timeout=30s"]).ok();
    let _worker = cluster.worker("w1", "1");
    let ports = ["client", "worker"].map(|role| port(&cluster, role));
    let peers: Vec<TcpStream> = (0..200).map(|i| connect(ports[i % 2])).collect();
    // Who is there stays: the worker is not lost.
    drop(peers);
    let job = eventually(
        "clients get in again",
        || cluster.hq(&["--output-mode=quiet", "submit", "true"]),
        |output| output.code == 0,
    );
    cluster.until(job.stdout.trim().parse().unwrap(), "finished", 1);
    assert_eq!(cluster.worker_state(1), "RUNNING");
    let log = server.printed();
    assert!(server.is_running() && !log.contains("panicked"), "{log}");
    assert!(log.lines().count() < 100, "{log}");
}
