//! `hq simulate`: inputs, clusters, policies, and what is written.

use std::{fs, path::PathBuf, process::Command};

use hq_tests::{Output, finish, hq_binary};
use serde_json::json;
use tempfile::TempDir;

/// A directory with files in it, and `hq` in that directory, without a server.
struct Desk(TempDir);

const JOBS: &str = "\
name,run,count,cpus,request,user,after
prep,10m,1,4,,anne,
train,2h,12,,\"cpus=8; gpus=0.5\",anne,prep
check,90,20,1,,bert,
";

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        desk.write("jobs.csv", JOBS);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(hq_binary());
        command.current_dir(self.0.path()).arg("simulate").args(args);
        for name in ["HQ_OUTPUT_MODE", "HQ_DEBUG", "RUST_LOG"] {
            command.env_remove(name);
        }
        command
    }

    fn hq(&self, args: &[&str]) -> Output {
        finish(&mut self.command(args))
    }
}

const CLUSTER: &str = "--cluster=2x cpus=32 gpus=[0,1]; cpus=16";

/// Compares with a golden file, which is rewritten if `UPDATE_GOLDEN` is set; without the counts of what the core did, which are
/// its own affair.
fn golden(name: &str, actual: &str) {
    let is_count =
        |line: &str| ["Scheduling", "\"decisions\"", "\"rounds\"", "\"facts\""].iter().any(|word| line.contains(word));
    let actual: String = actual.split_inclusive('\n').filter(|line| !is_count(line)).collect();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    assert_eq!(actual, fs::read_to_string(&path).unwrap_or_default(), "{name}");
}

#[test]
fn a_list_of_jobs() {
    let desk = Desk::new();
    let output = desk.hq(&["jobs.csv", CLUSTER]);
    golden("simulate.txt", output.ok());
    assert_eq!(output.log(), "", "nothing is said beside it");
    let table = output.table();
    assert_eq!(table.get("Tasks"), "33 arrived, 33 started, 33 finished");
    // Eight of the twelve have a half of a GPU, then four.
    assert_eq!(table.get("Makespan"), "4h 10m");
    golden("simulate.json", desk.hq(&["jobs.csv", CLUSTER, "--output-mode=json"]).ok());
}

#[test]
fn policies_beside_each_other() {
    let desk = Desk::new();
    let args = ["jobs.csv", CLUSTER, "--order=priority,fcfs,priority", "--placement=pack,least-loaded"];
    let output = desk.hq(&args);
    golden("simulate_policies.txt", output.ok());
    let table = output.table();
    assert_eq!(table.column("Order"), ["priority", "priority", "fcfs", "fcfs"]);
    assert_eq!(table.column("Placement"), ["pack", "least-loaded", "pack", "least-loaded"]);
    let quiet = desk.hq(&[&args[..], &["--output-mode=quiet"]].concat());
    let lines: Vec<&str> = quiet.ok().lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[2].starts_with("fcfs pack 15000 "), "{lines:?}");
    let all = desk.hq(&["jobs.csv", CLUSTER, "--order=all", "--placement=all"]);
    assert!(all.table().rows.len() >= 4);
    let error = desk.hq(&["jobs.csv", CLUSTER, "--order=fastest"]).fails(1);
    assert!(error.contains("there is no order `fastest`; use one of: ") && error.contains("fcfs"), "{error}");
}

#[test]
fn one_seed_is_one_trace() {
    let desk = Desk::new();
    for file in ["a", "b"] {
        desk.hq(&["jobs.csv", CLUSTER, "--order=priority,fcfs", "--seed=7", "--trace", file]).ok();
    }
    let trace = desk.read("a");
    assert_eq!(trace, desk.read("b"));
    let heads: Vec<&str> = trace.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(heads, ["# order=priority placement=pack seed=7", "# order=fcfs placement=pack seed=7"]);
    assert_eq!(trace.lines().filter(|line| line.ends_with(" finished")).count(), 2 * 33);
    // It needs no GPU: the worker without one has it.
    assert!(trace.contains("\n0 start task=0 worker=3 cpus=[0,1,2,3]\n"), "{trace}");
}

#[test]
fn formats_and_standard_input() {
    let desk = Desk::new();
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../hq-sim/testdata");
    let data = |name: &str| data.join(name).to_str().unwrap().to_owned();
    // A log knows its machine.
    let log = desk.hq(&[&data("sample.swf"), "--output-mode=json"]).json();
    assert_eq!(
        (&log["cluster"], &log["workload"]["format"]),
        (&json!({"workers": 1, "resources": {"cpus": 8}}), &json!("swf"))
    );
    let mut piped = desk.command(&["-", "--limit-jobs=1", "--output-mode=json"]);
    let mut child = piped
        .stdin(fs::File::open(data("sample.swf")).unwrap())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let piped: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&piped["workload"]["name"], &piped["workload"]["tasks"]), (&json!("standard input"), &json!(1)));
    let graph = desk.hq(&[&data("graphs.json"), "--graph=fork", "--cluster=cpus=4", "--critical-path-first"]);
    assert_eq!(graph.table().get("Tasks"), "3 arrived, 3 started, 3 finished");
    // Pods on nodes, a list each.
    let pods = desk.hq(&[&data("pods.csv"), "--cluster", &data("nodes.csv"), "--output-mode=json"]).json();
    assert_eq!((&pods["workload"]["format"], &pods["cluster"]["workers"]), (&json!("openb"), &json!(3)));
    // A cluster in a file.
    desk.write("nodes.txt", "# two\n2x cpus=32 gpus=[0,1]\ncpus=16\n");
    let (inline, file) = (desk.hq(&["jobs.csv", CLUSTER]), desk.hq(&["jobs.csv", "--cluster=nodes.txt"]));
    assert_eq!(inline.ok(), file.ok());
}

#[test]
fn workers_that_go() {
    let desk = Desk::new();
    desk.write("long.csv", "run,cpus\n1h,4\n");
    let output = desk.hq(&["long.csv", "--cluster=cpus=4 time-limit=30m; cpus=4 arrives=45m"]);
    assert_eq!(output.table().get("Tasks"), "1 arrived, 1 started, 1 finished, 1 runs cut");
    assert_eq!(output.table().get("Makespan"), "1h 45m");
    assert_eq!(desk.hq(&["long.csv", "--cluster=cpus=4", "--until=10m"]).table().get("Makespan"), "10m");
}

#[test]
fn pictures() {
    let desk = Desk::new();
    desk.write("evil.csv", "run,request\n5,cpus=1\n");
    let evil = "--cluster=cpus=1 host=\"<script>alert(1)</script>&\"";
    desk.hq(&["evil.csv", evil, "--report=evil.svg"]).ok();
    let svg = desk.read("evil.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("<script"), "{svg}");
    desk.hq(&["jobs.csv", CLUSTER, "--order=priority,fcfs", "--report=picture.html"]).ok();
    let page = desk.read("picture.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("jobs.csv on 3 workers: cpus 80, gpus 4"), "{page}");
    for part in [
        "<td>Makespan</td><td>4h 10m</td>",
        "priority, pack</text>",
        "fcfs, pack</text>",
        "gpus: mean ",
        "hours</text>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http:", "https:", "<script", "url(", "@import", "href"] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(outside), "a picture needs nothing else: {outside}");
    }
}

#[test]
fn what_cannot_run_is_named() {
    let desk = Desk::new();
    let output = desk.hq(&["jobs.csv", "--cluster=cpus=8"]);
    assert_eq!(output.table().get("Tasks"), "33 arrived, 21 started, 21 finished");
    assert!(
        output.log().contains("12 tasks never started; there was no place for: cpus=8 gpus=0.5"),
        "{}",
        output.log()
    );
}

#[test]
fn errors_say_where_and_what_to_do() {
    let desk = Desk::new();
    desk.write("bad.csv", "run,cpus\n10,1\n10,0\n");
    desk.write("bad.swf", "; MaxProcs: 4\n1 2 3\n");
    desk.write("what.csv", "length\n1\n");
    desk.write("empty.csv", "run\n");
    desk.write("bytes.csv", b"run\n1\n\xff\n");
    desk.write("log.swf.gz", b"\x1f\x8b\x08rest");
    desk.write("nodes.txt", "cpus=4\n  2x cpus=4 gpus=9\n");
    desk.write("several.json", r#"{"graph_name": {"0": "a", "1": "b"}, "graph": {"0": "[]", "1": "[]"}}"#);
    for (args, code, part) in [
        (&["bad.csv", "--cluster=cpus=4"][..], 1, "bad.csv: line 3, column 4: Zero resources cannot be requested"),
        (&["bad.swf"], 1, "bad.swf: line 2: a job has 18 fields, this one has 3"),
        (&["what.csv", "--cluster=cpus=4"], 1, "what.csv: use --format: this is none of the formats"),
        (&["empty.csv", "--cluster=cpus=4"], 1, "empty.csv: there is nothing to run in it"),
        (&["bytes.csv", "--cluster=cpus=4"], 1, "line 3, byte 1: it is not text (UTF-8)"),
        (&["log.swf.gz"], 1, "decompress it first: gzip -dc log.swf.gz | hq simulate -"),
        (&["absent.csv", "--cluster=cpus=4"], 1, "cannot read absent.csv: No such file"),
        (&["jobs.csv"], 1, "use --cluster, e.g. --cluster '4x cpus=32'"),
        (&["jobs.csv", "--cluster=nodes.txt"], 1, "nodes.txt: line 2, column 18: a plain number can define cpus only"),
        (&["jobs.csv", "--cluster=absent"], 1, "cannot read the cluster `absent`; a description names cpus"),
        (&["jobs.csv", "--cluster=4 cpus=4"], 2, "expected how many, e.g. `4x`"),
        (&["jobs.csv", "--cluster=cpus=4 gpus=9"], 2, "\n  cpus=4 gpus=9\n              ^"),
        (&["jobs.csv", "--graph=a", "--cluster=cpus=4"], 1, "a graph can be chosen from a set of graphs only"),
        (&["several.json", "--cluster=cpus=4"], 1, "several.json: use --graph NAME: there are several graphs in it"),
        (&["jobs.csv", "--report=picture.png"], 2, "has to end in .svg or .html"),
        (&["jobs.csv", CLUSTER, "--trace=no/such/file"], 1, "cannot write no/such/file"),
        (&["jobs.csv", "--format=xml"], 2, "[possible values: jobs, swf, graphs, wfcommons, openb]"),
        (&[], 2, "<FILE>"),
    ] {
        let error = desk.hq(args).fails(code);
        assert!(error.contains(part), "{args:?}: {error}");
    }
    let error = desk.hq(&["jobs.csv", "--output-mode=json"]);
    assert_eq!(error.code, 1);
    assert!(error.stdout.contains("\"error\"") && error.stderr.is_empty(), "{error:?}");
}

/// The examples of the page work as they stand there.
#[test]
fn the_page_is_true() {
    let page = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/simulate.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let block = |begin: &str| blocks.iter().find_map(|block| block.strip_prefix(begin)).unwrap();
    let desk = Desk::new();
    desk.write("jobs.csv", block("csv\n"));
    desk.write("nodes.txt", block("text\n# nodes.txt\n"));
    let table = desk.hq(&["jobs.csv", "--cluster=nodes.txt"]).table();
    assert_eq!(table.get("Cluster"), "44 workers: cpus 4240, gpus/nvidia 8, mem 8192000");
    assert_eq!(table.get("Tasks"), "521 arrived, 521 started, 521 finished");
    desk.write("three.csv", "run,count,cpus\n10,1,2\n10,2,1\n");
    let args = ["three.csv", "--cluster=cpus=4", "--trace=t"];
    desk.hq(&args).ok();
    let trace = desk.read("t");
    for line in block("text\n0 join").lines().skip(1) {
        assert!(trace.contains(&format!("\n{line}\n")), "{line}: {trace}");
    }
}
