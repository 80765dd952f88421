//! The quick start of the README, word for word.

use hq_tests::{Cluster, eventually, finish};

#[test]
fn word_for_word() {
    let mut cluster = Cluster::new();
    let hq = |cluster: &Cluster, args: &[&str]| finish(cluster.bare_command().args(args));

    let mut server = cluster.bare_command();
    let mut server = cluster.spawn(server.args(["server", "start"]), "server");
    let record = cluster.path(".hq-server/hq-current/access.json");
    eventually("access record", || (server.is_running(), record.exists()), |(running, there)| !running || *there);

    // Nobody is there yet who could run it.
    assert_eq!(hq(&cluster, &["submit", "echo", "Hello world"]).ok(), "Job submitted successfully, job ID: 1\n");
    let mut worker = cluster.bare_command();
    let mut worker = cluster.spawn(worker.args(["worker", "start"]), "worker");
    let wait = hq(&cluster, &["job", "wait", "last"]);
    assert_eq!((wait.ok(), wait.stderr.as_str()), ("", ""));
    assert_eq!(hq(&cluster, &["job", "cat", "last", "stdout"]).ok(), "Hello world\n");

    assert_eq!(hq(&cluster, &["server", "stop"]).ok(), "");
    assert_eq!((server.wait(), worker.wait()), (0, 1));
}
