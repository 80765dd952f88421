//! E2: what a variable holds whose name says that it is secret is shown to nobody who does not ask for it.

use std::{fs, os::unix::fs::PermissionsExt};

use hq_tests::Cluster;

const SECRETS: [&str; 4] = ["s3cret-token", "s3cret-key", "s3cret-pass", "s3cret-word"];
const ENV: [&str; 5] = [
    "--env=API_TOKEN=s3cret-token",
    "--env=aws_access_key=s3cret-key",
    "--env=DB_PASSWORD=s3cret-pass",
    "--env=my_secret=s3cret-word",
    "--env=SHOWN=in-the-open",
];

fn assert_hidden(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {what}:\n{text}");
    }
}

#[test]
fn e2_values_of_secrets_are_hidden() {
    let mut cluster = Cluster::start_with(&["--debug", "--journal", "journal"]);
    let worker = cluster.worker_with("w1", &["--cpus=1", "--debug"]);
    let script = "echo $API_TOKEN $aws_access_key $DB_PASSWORD $my_secret; exit 1";
    let array = cluster.submit(&[&ENV[..], &["--array=1-2", "bash", "-c", script]].concat());
    let file = "[[task]]\nid = 1\ncommand = [\"true\"]\nenv = { API_TOKEN = \"s3cret-token\", SHOWN = \"in-the-open\" }\n\
                [[task]]\nid = 2\ncommand = [\"true\"]\n";
    fs::write(cluster.path("job.toml"), file).unwrap();
    cluster.hq(&["job", "submit-file", "job.toml"]).ok();
    let swept = cluster.submit(&[&ENV[..], &["--sweep=x=1,2", "echo", "{x}"]].concat());
    cluster.hq(&["job", "wait", "all"]);
    // The task itself has them.
    assert_eq!(cluster.read(&format!("job-{array}/1.stdout")), format!("{}\n", SECRETS.join(" ")));

    let commands: [&[&str]; 8] = [
        &["job", "info", "all"],
        &["--output-mode=json", "job", "info", "all"],
        &["task", "info", "1", "1-2", "-v"],
        &["--output-mode=json", "task", "info", "2", "1-2"],
        &["task", "list", "all", "-v"],
        &["server", "debug-dump", "dump.json"],
        &["journal", "export", "journal"],
        &["task", "explain", "1", "1"],
    ];
    for args in commands {
        let output = cluster.hq(args);
        assert_hidden(&format!("{args:?}"), &(output.stdout + &output.stderr));
    }
    assert_hidden("the dump", &cluster.read("dump.json"));
    assert_hidden("the log of the server", &cluster.server().printed());
    assert_hidden("the log of the worker", &worker.printed());
    // Others are shown, and so are all to who asks for them.
    let shown = cluster.hq(&["job", "info", &swept.to_string()]);
    assert!(shown.ok().contains("SHOWN=in-the-open") && shown.ok().contains("API_TOKEN=<hidden>"), "{shown:?}");
    for args in [&["job", "info"][..], &["--output-mode=json", "job", "info"]] {
        let all = cluster.hq(&[args, &[&array.to_string(), "--show-secrets"]].concat());
        assert!(SECRETS.iter().all(|secret| all.ok().contains(secret)), "{all:?}");
    }
    let graph = cluster.hq(&["--output-mode=json", "job", "info", "2", "--show-secrets"]);
    assert!(graph.ok().contains(SECRETS[0]));
    // What has them is for its owner alone.
    assert_eq!(fs::metadata(cluster.path("journal")).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A job that is run again has its secrets: only what is shown is without them.
#[test]
fn e2_a_rerun_has_them() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w1", "1");
    let job = cluster.submit(&["--env=API_TOKEN=s3cret-token", "bash", "-c", "echo $API_TOKEN; exit 1"]);
    cluster.hq(&["job", "wait", &job.to_string()]);
    let again = cluster.hq(&["--output-mode=quiet", "job", "rerun", &job.to_string()]);
    let again: u32 = again.ok().trim().parse().unwrap();
    cluster.hq(&["job", "wait", &again.to_string()]);
    assert_eq!(cluster.read(&format!("job-{again}/0.stdout")), "s3cret-token\n");
}
