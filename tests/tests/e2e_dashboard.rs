//! The dashboard on a pseudo terminal, against a real server and a real journal.

use std::fs::File;

use hq_tests::{Cluster, Signal, Terminal, finish};

fn dashboard(cluster: &Cluster, args: &[&str]) -> Terminal {
    let mut command = cluster.command(&["dashboard"]);
    command.args(args);
    let errors = File::create(cluster.path("dashboard.err")).expect("a file can be made");
    Terminal::start(&mut command, 100, 30, errors)
}

#[test]
fn it_shows_a_server_reacts_to_keys_and_gives_the_terminal_back() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("node7", "2");
    let job = cluster.submit(&["--name=first", "--env=MY_TOKEN=not-for-you", "--array=1-3", "true"]);
    cluster.finished(job);
    let evil = "--name=\x1b[31mevil\u{202e}";
    cluster.submit(&[evil, "--array=0-999999999", "--stdout=none", "--stderr=none", "sleep", "1000"]);
    let mut terminal = dashboard(&cluster, &[]);
    assert!(terminal.until("LIVE").contains("Jobs (j)"));
    terminal.until("1/1000000000");
    terminal.press("\x1b[F");
    let shown = terminal.until("MY_TOKEN=<hidden>");
    assert!(shown.contains("first") && shown.contains("FINISHED"), "{shown}");
    assert!(shown.contains("array of 3 tasks") && !shown.contains("not-for-you"), "{shown}");
    assert!(shown.contains(r"\u{1b}[31mevil"), "{shown}");

    terminal.press("w");
    assert!(terminal.until("node7").contains("CPU"));
    terminal.press("a");
    terminal.until("no queues");
    terminal.press("j\x1b[H\t");
    terminal.until("1/1000000000");
    terminal.press("\x1b[F");
    terminal.until("> 999999999");
    terminal.resize(60, 15);
    terminal.until("> 999999999");

    let later = cluster.submit(&["--name=later", "true"]);
    terminal.until("later");
    assert!(later > job);
    terminal.press("q");
    assert_eq!(terminal.wait(), 0);
    hq_tests::eventually("the terminal is given back", || terminal.is_restored(), |is| *is);
    assert_eq!(cluster.read("dashboard.err"), "");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(!raw.contains("\x1b[31mevil") && !raw.contains('\u{202e}'), "what others wrote acts");
}

#[test]
fn signals_and_errors_give_the_terminal_back() {
    let mut cluster = Cluster::start();
    for signal in [Signal::TERM, Signal::INT] {
        let mut terminal = dashboard(&cluster, &["stream"]);
        terminal.until("no jobs");
        assert!(!terminal.is_restored());
        terminal.signal(signal);
        assert_eq!(terminal.wait(), 1);
        hq_tests::eventually("the terminal is given back", || terminal.is_restored(), |is| *is);
        assert!(cluster.read("dashboard.err").contains("ended by SIG"), "{}", cluster.read("dashboard.err"));
    }
    let mut terminal = dashboard(&cluster, &[]);
    terminal.until("no jobs");
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(cluster.server().wait(), 0);
    terminal.until("The server has gone");
    // Control and c, as a key.
    terminal.press("\x03");
    assert_eq!(terminal.wait(), 0);
    hq_tests::eventually("the terminal is given back", || terminal.is_restored(), |is| *is);
}

/// A server with a journal that has run two jobs, the second one for eleven seconds.
fn two_jobs() -> (Cluster, String) {
    let mut cluster = Cluster::new();
    let journal = cluster.path("journal").to_str().expect("a path").to_owned();
    cluster.start_server(&["--journal", &journal]);
    let _worker = cluster.worker("node1", "2");
    for args in [&["--name=one", "true"][..], &["--name=two", "sleep", "11"]] {
        let job = cluster.submit(args);
        cluster.finished(job);
    }
    (cluster, journal)
}

#[test]
fn a_server_with_a_journal_has_a_past() {
    let (cluster, _) = two_jobs();
    let mut terminal = dashboard(&cluster, &[]);
    terminal.until("two");
    // Ten seconds are looked at then, and a few are gone back at a time: as far as there is anything.
    terminal.press("kkkkkkk");
    terminal.until("(10s)");
    terminal.press(&"o".repeat(500));
    terminal.until("PAST");
    terminal.until("jobs: 0");
    terminal.press("r");
    terminal.until("jobs: 2");
    terminal.press("q");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn a_journal_is_shown_at_any_moment_of_it() {
    let (mut cluster, journal) = two_jobs();
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(cluster.server().wait(), 0);
    let mut terminal = dashboard(&cluster, &["replay", &journal]);
    let shown = terminal.until("FINISHED");
    assert!(shown.contains("REPLAY") && shown.contains("jobs: 2"), "{shown}");
    // Five seconds before the end the second job ran.
    terminal.press("kkkkkkk");
    terminal.until("(10s)");
    terminal.press("oo");
    terminal.until("RUNNING");
    terminal.press("w");
    terminal.until("2@0");
    terminal.press("q");
    assert_eq!(terminal.wait(), 0);
    hq_tests::eventually("the terminal is given back", || terminal.is_restored(), |is| *is);
    assert_eq!(cluster.read("dashboard.err"), "");
}

#[test]
fn without_a_terminal_it_says_so() {
    let cluster = Cluster::start();
    let output = finish(&mut cluster.command(&["dashboard"]));
    assert_eq!(output.code, 1);
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains("needs a terminal"), "{}", output.stderr);
    let output = cluster.hq(&["dashboard", "replay", "/not/there"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("/not/there"), "{}", output.stderr);
}
