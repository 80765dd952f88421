//! `hq submit`: where tasks come from (arrays, lines, JSON, standard input), and options in scripts.

use std::{fs, os::unix::ffi::OsStrExt, path::Path, process::Command};

use hq_tests::{Cluster, Output, Process, finish, hq_binary};
use serde_json::{Value, json};

/// Runs a client command with a file as its standard input.
fn with_input(cluster: &Cluster, input: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", "exec \"$0\" \"$@\" < \"$INPUT\""]).arg(hq_binary());
    command.arg("--server-dir").arg(cluster.server_dir()).args(args);
    finish(command.current_dir(cluster.dir()).env("INPUT", input).env("HOME", cluster.dir()))
}

fn script(cluster: &Cluster, name: &str, text: &str) {
    fs::write(cluster.path(name), text).unwrap();
}

/// What tasks `0..n` of a job printed.
fn printed(cluster: &Cluster, job: u32, ids: &[u32]) -> Vec<String> {
    ids.iter().map(|id| cluster.read(&format!("job-{job}/{id}.stdout")).trim_end().to_owned()).collect()
}

fn with_worker() -> (Cluster, Process) {
    let mut cluster = Cluster::start();
    let worker = cluster.worker("w", "4");
    (cluster, worker)
}

#[test]
fn entries_of_lines_and_json() {
    let (cluster, _worker) = with_worker();
    script(&cluster, "lines", "one\n\n three  x\nlast");
    script(&cluster, "json", "[{\"x\": [1, 2, 3]},\n \"Three\", null]");
    let show = ["bash", "-c", "echo \"<$HQ_ENTRY>\""];
    let job = cluster.submit(&[&["--each-line=lines"], &show[..]].concat());
    cluster.finished(job);
    assert_eq!(printed(&cluster, 1, &[0, 1, 2, 3]), ["<one>", "<>", "< three  x>", "<last>"]);
    assert_eq!(cluster.hq(&["job", "task-ids", "1"]).ok(), "0-3\n");
    let job = cluster.submit(&[&["--from-json=json"], &show[..]].concat());
    cluster.finished(job);
    assert_eq!(printed(&cluster, 2, &[0, 1, 2]), ["<{\"x\":[1,2,3]}>", "<\"Three\">", "<null>"]);
    // Of an array, only the ids that have an entry.
    let job = cluster.submit(&[&["--each-line=lines", "--array=2-9,0"], &show[..]].concat());
    cluster.finished(job);
    assert_eq!(cluster.hq(&["job", "task-ids", "3"]).ok(), "0,2-3\n");
    assert_eq!(printed(&cluster, 3, &[0, 2, 3]), ["<one>", "< three  x>", "<last>"]);
    script(&cluster, "empty", "");
    script(&cluster, "object", "{}");
    script(&cluster, "nul", "a\0b\n");
    for (args, text) in [
        (&["--from-json=object"][..], "The top element of the provided JSON file has to be an array"),
        (&["--from-json=lines"], "`lines` is not valid JSON: "),
        (&["--each-line=nul"], "line 1 of `nul` holds a zero byte"),
        (&["--each-line=/dev/zero"], "line 1 of `/dev/zero` holds a zero byte"),
        (&["--from-json=/dev/zero"], "`/dev/zero` is not valid JSON"),
        (&["--each-line=missing"], "cannot open `missing`: No such file or directory"),
        (&["--each-line=empty"], "there is nothing to submit: no task has an entry"),
        (&["--each-line=lines", "--array=7-9"], "there is nothing to submit: no task has an entry"),
        (&["--each-line=."], "Is a directory"),
    ] {
        let output = cluster.hq(&[&["submit"], args, &["true"]].concat());
        assert!(output.fails(1).contains(text), "{args:?}: {output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "one line: {output:?}");
    }
    assert_eq!(cluster.hq(&["submit", "--each-line=lines", "--from-json=json", "true"]).code, 2);
    assert_eq!(cluster.json(&["job", "list", "--all"]).as_array().unwrap().len(), 3, "nothing half done");
}

#[test]
fn a_huge_file_is_read_as_far_as_it_is_wanted() {
    let (cluster, _worker) = with_worker();
    let file = fs::File::create(cluster.path("huge")).unwrap();
    std::io::Write::write_all(&mut &file, b"a\nb\n").unwrap();
    file.set_len(5 << 30).unwrap();
    let output = cluster.hq(&["submit", "--each-line=huge", "--array=0-1", "bash", "-c", "echo $HQ_ENTRY"]);
    assert!(output.log().contains("`huge` is large: 5120 MiB"), "{output:?}");
    cluster.finished(1);
    assert_eq!(printed(&cluster, 1, &[0, 1]), ["a", "b"]);
    let output = cluster.hq(&["submit", "--each-line=huge", "true"]);
    assert!(output.fails(1).contains("line 3 of `huge` holds a zero byte"), "{output:?}");
}

#[test]
fn attached_entries_follow_the_largest_id() {
    let (cluster, _worker) = with_worker();
    script(&cluster, "lines", "x\ny\n");
    cluster.hq(&["job", "open"]).ok();
    let attach =
        |args: &[&str]| cluster.hq(&[&["submit", "--job=1"], args, &["bash", "-c", "echo $HQ_ENTRY"]].concat());
    attach(&[]).ok();
    attach(&["--array=5"]).ok();
    attach(&["--each-line=lines"]).ok();
    assert_eq!(cluster.hq(&["job", "task-ids", "1"]).ok(), "0,5-7\n");
    assert!(attach(&["--array=1,5"]).fails(1).contains("Task 5 already exists in job 1"));
    cluster.hq(&["job", "close", "1"]).ok();
    assert!(attach(&[]).fails(1).contains("Job 1 is not open"));
    cluster.hq(&["job", "wait", "1"]).ok();
    assert_eq!(printed(&cluster, 1, &[6, 7]), ["x", "y"]);
    for (option, text) in [
        ("--name=a", "Parameter --name is not allowed when submitting to an open job."),
        ("--max-fails=1", "Parameter --max-fails is not allowed when submitting to an open job."),
    ] {
        assert!(attach(&[option]).fails(1).contains(text));
    }
}

#[test]
fn standard_input_reaches_every_task() {
    let (cluster, _worker) = with_worker();
    let data = "line 1\nline 2\n".repeat(30_000);
    script(&cluster, "input", &data);
    let input = cluster.path("input");
    let output = with_input(&cluster, &input, &["submit", "--stdin", "--array=1-3", "cat"]);
    assert_eq!(output.ok().lines().count(), 2, "a notice and the id: {output:?}");
    cluster.finished(1);
    for task in 1..=3 {
        assert_eq!(cluster.read(&format!("job-1/{task}.stdout")), data);
    }
    let quiet = with_input(&cluster, &input, &["--output-mode=quiet", "submit", "--stdin", "head", "-n1"]);
    assert_eq!(quiet.ok(), "2\n");
    assert_eq!(cluster.finished(2)["tasks"][0]["state"], "finished", "not all has to be read");
    assert_eq!(cluster.read("job-2/0.stdout"), "line 1\n");
    // Not even an empty input is that of the client.
    let none = with_input(&cluster, &input, &["--output-mode=quiet", "submit", "cat"]);
    cluster.finished(none.ok().trim().parse().unwrap());
    assert_eq!(cluster.read("job-3/0.stdout"), "");
    let zero = with_input(&cluster, Path::new("/dev/zero"), &["submit", "--stdin", "cat"]);
    assert!(zero.fails(1).contains("standard input holds more than 60 MiB"), "{zero:?}");
}

fn program(cluster: &Cluster, job: u32) -> (Value, Value) {
    let info = cluster.json(&["job", "info", &job.to_string()])[0].clone();
    (info["info"].clone(), info["submits"][0]["array"].clone())
}

#[test]
fn options_in_scripts() {
    let (cluster, _worker) = with_worker();
    let text = "#!/bin/bash\n\n#HQ --name=\"my job\" --cpus \"2 compact\"\n# comment\n#HQ --env A=1 --array 1-3\n\
                #HQ --weight 2.5 --priority=-3\necho $0 $A $HQ_TASK_ID\n#HQ --name ignored\n";
    script(&cluster, "test.sh", text);
    script(&cluster, "plain", text);
    // It is not executable: its first line says who runs it.
    let output = cluster.hq(&["submit", "test.sh", "x"]);
    assert_eq!(output.stderr, "");
    cluster.finished(1);
    assert_eq!(printed(&cluster, 1, &[1, 2, 3]), ["test.sh 1 1", "test.sh 1 2", "test.sh 1 3"]);
    let (info, array) = program(&cluster, 1);
    assert_eq!((&info["name"], &array["program"]["args"]), (&json!("my job"), &json!(["/bin/bash", "test.sh", "x"])));
    assert_eq!((&array["priority"], &array["resources"][0]["weight"]), (&json!(-3), &json!(25000)));
    // What is on the command line wins; lists are joined; where tasks come from is one thing.
    script(&cluster, "lines", "e\n");
    let args = ["--name=mine", "--cpus=1", "--env=B=2", "--each-line=lines", "--task-dir", "test.sh"];
    cluster.submit(&args);
    let (info, array) = program(&cluster, 2);
    assert_eq!((&info["name"], &info["task_count"], &array["task_dir"]), (&json!("mine"), &json!(1), &json!(true)));
    assert_eq!(array["program"]["env"], json!({"A": "1", "B": "2"}));
    assert_eq!(array["resources"][0]["resources"][0]["request"], json!({"Compact": 10000}));

    for (mode, file, tasks, first) in
        [("off", "test.sh", 1, "test.sh"), ("auto", "plain", 1, "plain"), ("file", "plain", 3, "/bin/bash")]
    {
        let job = cluster.submit(&[&format!("--directives={mode}"), file]);
        let (info, array) = program(&cluster, job);
        assert_eq!(
            (&info["task_count"], &array["program"]["args"][0]),
            (&json!(tasks), &json!(first)),
            "{mode} {file}"
        );
    }
    let input = cluster.path("plain");
    let args = ["--output-mode=quiet", "submit", "--stdin", "--directives=stdin", "bash"];
    let job = with_input(&cluster, &input, &args).ok().trim().parse().unwrap();
    cluster.finished(job);
    assert_eq!(printed(&cluster, job, &[1, 2, 3]), ["bash 1 1", "bash 1 2", "bash 1 3"]);
    // The interpreter is not put before a command that reads its input.
    let job = with_input(&cluster, &input, &["--output-mode=quiet", "submit", "--stdin", "test.sh"]);
    let (_, array) = program(&cluster, job.ok().trim().parse().unwrap());
    assert_eq!(array["program"]["args"], json!(["test.sh"]));

    for (line, text) in [
        ("--foo", "unexpected argument '--foo' found"),
        ("--wait", "unexpected argument '--wait' found"),
        ("--nodes 2 --cpus 2", "cannot be used with"),
        ("--name \"x", "a quote does not end in line 1"),
    ] {
        script(&cluster, "bad.sh", &format!("#HQ {line}\n"));
        let output = cluster.hq(&["submit", "bad.sh"]);
        assert!(output.fails(1).contains(text), "{output:?}");
    }
    script(&cluster, "nodes.sh", "#HQ --nodes 2\n");
    let output = cluster.hq(&["submit", "--cpus=2", "nodes.sh"]);
    assert!(output.fails(1).contains("--nodes cannot be combined with --cpus or --pin"), "{output:?}");
    let output = cluster.hq(&["submit", "--directives=stdin", "true"]);
    assert!(output.fails(1).contains("You have to use `--stdin` when you specify `--directives=stdin`"), "{output:?}");
    let output = cluster.hq(&["submit", "--directives=file", "nofile"]);
    assert!(output.fails(1).contains("Could not read directives from `nofile`"), "{output:?}");
}

#[test]
fn progress_is_one_line_without_codes_where_nobody_looks() {
    let (cluster, _worker) = with_worker();
    let output = cluster.hq(&["submit", "--progress", "--array=1-3", "bash", "-c", "exit $((HQ_TASK_ID / 3))"]);
    let bar = "#".repeat(40);
    let expected = format!("Job submitted successfully, job ID: 1\n[{bar}] 1/1 jobs, 3/3 tasks 1 FAILED\n");
    assert_eq!(output.ok(), expected);
    assert!(output.stderr.contains("INFO Waiting for job 1"), "{output:?}");
    assert_eq!(cluster.json(&["submit", "--progress", "true"]), json!({"id": 2}));
    assert_eq!(cluster.hq(&["submit", "--progress", "--wait", "true"]).code, 2);
}

#[test]
fn what_no_program_can_be_given_is_refused() {
    let cluster = Cluster::start();
    script(&cluster, "long", &"x".repeat(131_063));
    let output = cluster.hq(&["submit", "--each-line=long", "true"]);
    assert!(output.fails(1).contains("line 1 of `long` has more than 131062 bytes"), "{output:?}");
    let variables: String = (0..1000).map(|n| format!("--env V{n}=x ")).collect();
    script(&cluster, "many.sh", &format!("#HQ {variables}\ntrue\n"));
    cluster.hq(&["submit", "many.sh"]).ok();
    let output = cluster.hq(&["submit", "--cwd", &"d/".repeat(3000), "true"]);
    assert!(output.fails(1).contains("the working directory has 6000 bytes"), "{output:?}");
    assert_eq!(cluster.json(&["job", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn names_that_are_no_text_are_kept_byte_for_byte() {
    let (cluster, _worker) = with_worker();
    let odd = std::ffi::OsStr::from_bytes(b"d\xff\xfe");
    let dir = cluster.dir().join(odd);
    fs::create_dir(&dir).unwrap();
    fs::copy("/bin/true", dir.join(odd)).unwrap();
    let mut command = cluster.command(&["--output-mode=quiet", "submit", "--cwd"]);
    command.arg(&dir).arg("--stdout").arg(odd).arg("--env").arg(std::ffi::OsStr::from_bytes(b"N=\xff"));
    command.args(["bash", "-c"]).arg(std::ffi::OsStr::from_bytes(b"printf %s $N \xfe"));
    let job = finish(&mut command).ok().trim().parse().unwrap();
    assert_eq!(cluster.finished(job)["tasks"][0]["state"], "finished");
    // The file replaces the program of the same name there.
    assert_eq!(fs::read(dir.join(odd)).unwrap(), b"\xff\xfe");
    fs::copy("/bin/true", dir.join("prog\u{fffd}")).unwrap();
    let mut command = cluster.command(&["--output-mode=quiet", "submit"]);
    let job = finish(command.arg(dir.join("prog\u{fffd}"))).ok().trim().parse().unwrap();
    assert_eq!(cluster.finished(job)["tasks"][0]["state"], "finished");
    for args in [["job", "info", "1"], ["task", "list", "1"], ["job", "cat", "1"]] {
        let mut args = args.to_vec();
        if args[1] == "cat" {
            args.push("stdout");
        }
        cluster.hq(&args).ok();
    }
}

#[test]
fn tasks_are_kept_on_their_cpus() {
    let (cluster, _worker) = with_worker();
    let run = |args: &[&str], script: &str| {
        let job = cluster.submit(&[args, &["bash", "-c", script]].concat());
        let task = cluster.finished(job)["tasks"][0].clone();
        (task, cluster.read(&format!("job-{job}/0.stdout")))
    };
    let (_, text) = run(&["--pin=taskset", "--cpus=1"], "taskset -cp $$; echo $HQ_PIN");
    assert!(text.ends_with("current affinity list: 0\ntaskset\n"), "{text}");
    let show = "echo $HQ_PIN $OMP_PLACES $OMP_PROC_BIND $OMP_NUM_THREADS";
    assert_eq!(run(&["--pin=omp", "--cpus=2"], show).1, "omp {0,1} close 2\n");
    let own = ["--pin=omp", "--cpus=2", "--env=OMP_PLACES=cores", "--env=OMP_NUM_THREADS=7"];
    assert_eq!(run(&own, show).1, "omp cores close 7\n");
    // Without, a task has the cpus that the worker was started with.
    let (_, text) = run(&["--cpus=1"], "taskset -cp $$; echo $HQ_PIN");
    let all = finish(Command::new("bash").args(["-c", "taskset -cp $$"])).stdout;
    let list = |text: &str| text.lines().next().and_then(|line| line.rsplit(": ").next().map(str::to_owned));
    assert_eq!((list(&text), text.lines().nth(1)), (list(&all), Some("")));
    // Whole nodes give no cpus to be kept on.
    fs::write(
        cluster.path("pin.toml"),
        "[[task]]\ncommand = [\"true\"]\npin = \"omp\"\n[[task.request]]\nn_nodes = 1\n",
    )
    .unwrap();
    let job = cluster.hq(&["--output-mode=quiet", "job", "submit-file", "pin.toml"]).ok().trim().parse().unwrap();
    let task = cluster.finished(job)["tasks"][0].clone();
    assert_eq!(task["error"], "Pinning failed, no CPU ids allocated for task");
}
