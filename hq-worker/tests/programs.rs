//! Programs from their start to their end.

mod common;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
    sync::Arc,
};

use common::{Bench, blob, body, failed, file, is_alive, lane, order, pid_in, program, same, shell, until};
use hq_core::{Blob, FailCause, OnClose, Outcome, ProgramBody, ProgramSpec, Stdio};
use hq_node::StopHow;

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn script(path: &Path, content: &str, mode: u32) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn ends_are_told_in_words_that_callers_know() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let killed = "Program terminated with exit code -1. Received signal 9 (SIGKILL).";
    for (args, outcome) in [
        (&["/bin/true"][..], Outcome::Finished),
        (&["true"], Outcome::Finished),
        (&["sh", "-c", "exit 3"], failed("Program terminated with exit code 3.")),
        (&["sh", "-c", "kill -9 $$"], failed(killed)),
    ] {
        assert_eq!(bench.run_spec(program(args, dir.path())), outcome, "{args:?}");
    }
}

#[test]
fn programs_that_cannot_be_executed() {
    let dir = tempfile::tempdir().unwrap();
    let (bench, at) = (Bench::programs(dir.path()), dir.path().display());
    let text = |args: &[&str]| match bench.run_spec(program(args, dir.path())) {
        Outcome::Failed(text) => text,
        outcome => panic!("{args:?}: {outcome:?}"),
    };
    let missing = "Cannot execute \"foo --bar --baz=5\": No such file or directory (os error 2)\n\
                   The program that you have tried to execute (`foo`) was not found.";
    assert_eq!(text(&["foo", "--bar", "--baz=5"]), missing);
    script(&dir.path().join("foo"), "#!/bin/sh\n", 0o755);
    let hint = format!("{missing}\nThe file `{at}/foo` exists, maybe you have meant `./foo` instead?");
    assert_eq!(text(&["foo", "--bar", "--baz=5"]), hint);
    script(&dir.path().join("test.sh"), "echo hi\n", 0o644);
    assert_eq!(
        text(&["./test.sh"]),
        "Cannot execute \"./test.sh\": Permission denied (os error 13)\n\
         The script that you have tried to execute (`./test.sh`) is not executable.\n\
         Try making it executable or add a shebang line to it."
    );
    script(&dir.path().join("lost"), "#!/no/such/interpreter -x\n", 0o755);
    assert_eq!(
        text(&["./lost"]),
        "Cannot execute \"./lost\": No such file or directory (os error 2)\n\
         The file `./lost` exists, but its interpreter (`/no/such/interpreter`) was not found."
    );
    script(&dir.path().join("binary"), "\u{7f}ELF\0nonsense", 0o755);
    assert_eq!(text(&["./binary"]), "Cannot execute \"./binary\": Exec format error (os error 8)");
    assert_eq!(text(&["/"]), "Cannot execute \"/\": Permission denied (os error 13)");
    // The output files are there all the same.
    assert_eq!((read(dir.path().join("out")), read(dir.path().join("err"))), (String::new(), String::new()));
}

#[test]
fn a_script_without_interpreter_is_run_by_the_shell() {
    let dir = tempfile::tempdir().unwrap();
    script(&dir.path().join("plain.sh"), "echo \"$0 $1 $2\"\n", 0o755);
    let bench = Bench::programs(dir.path());
    assert_eq!(bench.run_spec(program(&["./plain.sh", "a b", "c"], dir.path())), Outcome::Finished);
    assert_eq!(read(dir.path().join("out")), "./plain.sh a b c\n");
}

#[test]
fn directories_and_files_are_made_where_they_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let spec = ProgramSpec {
        cwd: blob("w/%{INSTANCE_ID}-%{SERVER_UID}"),
        submit_dir: blob(dir.path().to_str().unwrap()),
        stdout: file("%{CWD}/o/%{JOB_ID}/%{TASK_ID}.out"),
        stderr: file("../err/x"),
        ..shell("pwd; echo bad >&2", dir.path())
    };
    assert_eq!(bench.run_spec(spec.clone()), Outcome::Finished);
    let cwd = dir.path().join("w/2-uid7");
    assert_eq!(read(cwd.join("o/3/7.out")), format!("{}\n", fs::canonicalize(&cwd).unwrap().display()));
    assert_eq!(read(dir.path().join("w/err/x")), "bad\n");

    // Without outputs, nothing but the start needs the directory.
    let other = dir.path().join("deep/er");
    let quiet = ProgramSpec { stdout: Stdio::Null, stderr: Stdio::Null, ..shell("touch here", &other) };
    assert_eq!(bench.run_spec(quiet), Outcome::Finished);
    assert!(other.join("here").exists());

    // What cannot be made fails the task and nothing else.
    for (spec, text) in [
        (
            ProgramSpec { stdout: file("/dev/null/foo.txt"), ..spec.clone() },
            "cannot create the output file `/dev/null/foo.txt`: Not a directory (os error 20)",
        ),
        (
            ProgramSpec { cwd: blob("/dev/null/x"), stdout: Stdio::Null, stderr: Stdio::Null, ..spec },
            "cannot use the working directory `/dev/null/x`: Not a directory (os error 20)",
        ),
        // With outputs that would lie there.
        (
            ProgramSpec { cwd: blob("/dev/null"), ..shell("true", dir.path()) },
            "cannot use the working directory `/dev/null`: Not a directory (os error 20)",
        ),
        (
            ProgramSpec { cwd: blob("/proc/nope"), ..shell("true", dir.path()) },
            "cannot use the working directory `/proc/nope`: No such file or directory (os error 2)",
        ),
        (
            ProgramSpec { stdout: file("/proc/nope/out"), ..shell("true", dir.path()) },
            "cannot create the output file `/proc/nope/out`: No such file or directory (os error 2)",
        ),
    ] {
        assert_eq!(bench.run_spec(spec), failed(text));
    }
}

#[test]
fn output_files() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let removed = |path: &str| Stdio::File { path: blob(path), on_close: OnClose::RemoveIfFinished };
    fs::write(dir.path().join("out"), "much longer than what comes").unwrap();
    assert_eq!(bench.run_spec(shell("echo a; echo b >&2", dir.path())), Outcome::Finished);
    assert_eq!((read(dir.path().join("out")), read(dir.path().join("err"))), ("a\n".into(), "b\n".into()));
    // One file for both keeps what both say.
    let both = ProgramSpec { stdout: file("both"), stderr: file("both"), ..shell("echo a; echo b >&2", dir.path()) };
    assert_eq!(bench.run_spec(both), Outcome::Finished);
    assert_eq!(read(dir.path().join("both")), "a\nb\n");
    // Removed after success only; also when the program never ran, it is there.
    for (args, is_left) in [(&["true"][..], false), (&["false"], true), (&["no-such-program"], true)] {
        let spec = ProgramSpec { stdout: removed("gone"), ..program(args, dir.path()) };
        bench.run_spec(spec);
        assert_eq!(dir.path().join("gone").exists(), is_left, "{args:?}");
    }
    // Of a link, the link.
    fs::write(dir.path().join("target"), "old").unwrap();
    symlink("target", dir.path().join("link")).unwrap();
    let spec = ProgramSpec { stdout: removed("link"), ..program(&["echo", "new"], dir.path()) };
    assert_eq!(bench.run_spec(spec), Outcome::Finished);
    assert!(!dir.path().join("link").is_symlink());
    assert_eq!(read(dir.path().join("target")), "new\n");
    // A pipe without reader does not hold up the worker.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let spec = ProgramSpec { stdout: file("pipe"), ..program(&["true"], dir.path()) };
    assert!(matches!(bench.run_spec(spec), Outcome::Failed(text) if text.ends_with("(os error 6)")));
}

#[test]
fn standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let large = "0123456789abcdef".repeat(20_000);
    let spec = |script: &str, stdin: Option<&str>| ProgramSpec { stdin: stdin.map(blob), ..shell(script, dir.path()) };
    for (script, stdin, out) in [
        ("wc -c", Some(&*large), "320000"),
        ("exec 0<&-; echo closed", Some(&large), "closed"),
        ("head -c 3", Some("abcdef"), "abc"),
        ("cat; echo end", None, "end"),
        ("cat; echo end", Some(""), "end"),
    ] {
        assert_eq!(bench.run_spec(spec(script, stdin)), Outcome::Finished, "{script}");
        assert_eq!(read(dir.path().join("out")).trim(), out, "{script}");
    }
    // Tasks of one submit read it each from its beginning, and cannot change it for the others.
    let (body, lane) = (same(spec("echo x 1<>/dev/stdin; cat", Some("hello"))), Arc::new(lane()));
    for _ in 0..3 {
        bench.run(order(&body, &lane));
        assert_eq!(read(dir.path().join("out")), "hello");
    }
}

#[test]
fn bodies_of_their_own_and_entries() {
    let dir = tempfile::tempdir().unwrap();
    let (bench, lane) = (Bench::programs(dir.path()), Arc::new(lane()));
    let entries = same(shell("echo \"<$HQ_ENTRY>\"", dir.path()));
    for entry in ["one", "two words"] {
        let mut order = order(&entries, &lane);
        order.part = entry.as_bytes().to_vec();
        assert_eq!(bench.run(order), Outcome::Finished);
        assert_eq!(read(dir.path().join("out")), format!("<{entry}>\n"));
    }
    let each = body(&ProgramBody::PerTask);
    for text in ["a", "b"] {
        let mut order = order(&each, &lane);
        order.part = postcard::to_stdvec(&program(&["echo", text], dir.path())).unwrap();
        assert_eq!(bench.run(order), Outcome::Finished);
        assert_eq!(read(dir.path().join("out")), format!("{text}\n"));
    }
}

#[test]
fn damaged_bodies_fail_their_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let (bench, lane) = (Bench::programs(dir.path()), Arc::new(lane()));
    let zero = |spec: ProgramSpec| bench.run_spec(spec);
    let base = shell("true", dir.path());
    let no_body = "the body of the task is not one of kind `program`";
    let mut bad = (*same(base.clone())).clone();
    bad.shared = Blob::from(&[9, 9, 9][..]);
    assert_eq!(bench.run(order(&Arc::new(bad), &lane)), failed(no_body));
    assert_eq!(bench.run(order(&body(&ProgramBody::PerTask), &lane)), failed(no_body));
    for (spec, text) in [
        (ProgramSpec { args: vec![], ..base.clone() }, "the task has no program to run"),
        (ProgramSpec { args: vec![blob("a\0b")], ..base.clone() }, "argument 0 of the program holds a zero byte"),
        (
            ProgramSpec { env: vec![(blob("A"), blob("\0"))], ..base.clone() },
            "the environment variable `A` holds a zero byte",
        ),
        (
            ProgramSpec { env: vec![(blob("A=B"), blob(""))], ..base.clone() },
            "the environment variable `A=B` has a name that no program can be given",
        ),
    ] {
        assert_eq!(zero(spec), failed(text));
    }
    assert_eq!(zero(base), Outcome::Finished);
}

#[test]
fn a_task_directory_lives_as_long_as_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work/dir");
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "").unwrap();
    let bench = Bench::programs(&work);
    let at = |script: &str| {
        let spec = ProgramSpec { task_dir: true, ..shell(script, dir.path()) };
        let outcome = bench.run_spec(spec);
        // The very moment the end is known.
        let left = fs::read_dir(&work).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{script}: {outcome:?}");
        assert!(outside.join("precious").exists(), "{script}");
        outcome
    };
    assert_eq!(at("test -d $HQ_TASK_DIR && stat -c %a $HQ_TASK_DIR && echo $HQ_TASK_DIR"), Outcome::Finished);
    assert!(read(dir.path().join("out")).starts_with("700\n"));
    symlink(&outside, dir.path().join("trap")).unwrap();
    assert_eq!(at("cp -P trap $HQ_TASK_DIR/; ln -s $PWD/outside/precious $HQ_TASK_DIR/p"), Outcome::Finished);
    assert_eq!(at("rmdir $HQ_TASK_DIR; ln -s $PWD/outside $HQ_TASK_DIR"), Outcome::Finished);
    assert_eq!(at("mkdir -p $HQ_TASK_DIR/a/b; chmod 0 $HQ_TASK_DIR/a/b $HQ_TASK_DIR/a"), Outcome::Finished);
    assert_eq!(at("rmdir $HQ_TASK_DIR"), Outcome::Finished);
    assert_eq!(at("exec no-such-program"), failed("Program terminated with exit code 127."));
    assert_eq!(at("echo why > $HQ_ERROR_FILENAME; exit 1"), Outcome::failed_of(FailCause::Exit(1), "why\n"));
    assert_eq!(at("echo why > $HQ_ERROR_FILENAME"), Outcome::Finished);
    assert_eq!(
        at(": > $HQ_ERROR_FILENAME; kill $$"),
        Outcome::failed_of(FailCause::Signal(15), "Task created an error file, but it is empty")
    );
    assert_eq!(at("mkfifo $HQ_ERROR_FILENAME; exit 2"), failed("Program terminated with exit code 2."));
    let spec = ProgramSpec { task_dir: true, ..program(&["no-such-program"], dir.path()) };
    assert!(bench.run_spec(spec).error().is_some());
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn a_program_gets_a_clean_process() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    // A descriptor that a host program forgot to mark; it must not reach the task.
    let leak = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let script = "ls /proc/self/fd | wc -l; cut -d' ' -f5,6 /proc/$$/stat; echo $$; \
                  grep -E '^Sig(Blk|Ign)' /proc/self/status";
    assert_eq!(bench.run_spec(shell(script, dir.path())), Outcome::Finished);
    let out = read(dir.path().join("out"));
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    let pid = lines[2];
    // 0, 1, 2 and the one by which `ls` reads the directory.
    assert_eq!((lines[0], lines[1]), ("4", &*format!("{pid} {pid}")), "{out}");
    assert!(lines[3..].iter().all(|line| line.ends_with("0000000000000000")), "{out}");
}

#[test]
fn an_interrupt_reaches_the_group_and_nothing_is_left_of_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    // The shell ends at SIGINT; its child ignores it, its grandchild lives in a process group of its own.
    let script = "trap 'echo wound > mark; exit 4' INT
                  sh stubborn child & bash -c 'set -m; sh stubborn grandchild & wait' &
                  while :; do sleep 0.05; done";
    let stubborn = "trap '' INT TERM HUP; echo $$ > $1; while :; do sleep 0.05; done";
    fs::write(dir.path().join("stubborn"), stubborn).unwrap();
    let run = bench.start(order(&same(shell(script, dir.path())), &Arc::new(lane())));
    let pids = [pid_in(&dir.path().join("child")), pid_in(&dir.path().join("grandchild"))];
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    bench.stop(run, StopHow::Interrupt);
    assert_eq!(bench.end_of(run), failed("Program terminated with exit code 4."));
    assert_eq!(read(dir.path().join("mark")), "wound\n");
    until("the tree is gone", || pids.iter().all(|pid| !is_alive(*pid)));
}

#[test]
fn a_kill_takes_those_that_ignore_an_interrupt() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "trap '' INT TERM; sh -c 'echo $$ > child; while :; do sleep 0.05; done' & \
                  echo $$ > main; while :; do sleep 0.05; done";
    let run = bench.start(order(&same(shell(script, dir.path())), &Arc::new(lane())));
    let pids = [pid_in(&dir.path().join("child")), pid_in(&dir.path().join("main"))];
    bench.stop(run, StopHow::Interrupt);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(pids.iter().all(|pid| is_alive(*pid)), "they ignore it");
    bench.stop(run, StopHow::Kill);
    let text = "Program terminated with exit code -1. Received signal 9 (SIGKILL).";
    assert_eq!(bench.end_of(run), failed(text));
    until("the tree is gone", || pids.iter().all(|pid| !is_alive(*pid)));
}

/// Processes with the ids in these files, all alive.
fn alive_in<const N: usize>(dir: &Path, files: [&str; N]) -> [u32; N] {
    let pids = files.map(|file| pid_in(&dir.join(file)));
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    pids
}

#[test]
fn sessions_of_their_own_do_not_escape() {
    let stubborn = "trap '' INT TERM HUP; echo $$ > $1; while :; do sleep 0.05; done";
    // A child, an orphan, and a grandchild of an orphan; and, as long as its parent lives, one without the key.
    let script = "setsid sh stubborn child & (setsid sh stubborn orphan &); \
                  (setsid sh -c 'setsid sh stubborn deep & wait' &)";
    for (how, main, text) in [
        (StopHow::Interrupt, "trap 'exit 4' INT; : > bare; while :; do sleep 0.05; done", "exit code 4."),
        (
            StopHow::Kill,
            "env -i setsid sh stubborn bare & trap '' INT; wait",
            "exit code -1. Received signal 9 (SIGKILL).",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("stubborn"), stubborn).unwrap();
        let bench = Bench::programs(dir.path());
        let spec = shell(&format!("{script}; {main}"), dir.path());
        let run = bench.start(order(&same(spec), &Arc::new(lane())));
        let mut pids = alive_in(dir.path(), ["child", "orphan", "deep"]).to_vec();
        if how == StopHow::Kill {
            pids.extend(alive_in(dir.path(), ["bare"]));
        }
        until("the main process waits", || dir.path().join("bare").exists());
        bench.stop(run, how);
        assert_eq!(bench.end_of(run), failed(&format!("Program terminated with {text}")));
        // The very moment the end is known.
        assert!(pids.iter().all(|pid| !is_alive(*pid)), "{how:?}");
        until("they are reaped", || pids.iter().all(|pid| !exists(*pid)));
    }
}

/// Whether there is such a process, if only to be reaped.
fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn what_stays_after_an_ordinary_end_is_reaped_when_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "sh -c 'echo $$ > left; while test ! -e go; do sleep 0.02; done' & until test -s left; do :; done";
    assert_eq!(bench.run_spec(shell(script, dir.path())), Outcome::Finished);
    let [left] = alive_in(dir.path(), ["left"]);
    // Another run that is stopped does not touch it.
    let run = bench.start(order(&same(shell("echo $$ > other; sleep 100", dir.path())), &Arc::new(lane())));
    alive_in(dir.path(), ["other"]);
    bench.stop(run, StopHow::Kill);
    bench.end_of(run);
    assert!(is_alive(left));
    // Nor does the reaping touch children of the host.
    let mut hosts = Command::new("true").spawn().unwrap();
    until("it has ended", || !is_alive(hosts.id()));
    fs::write(dir.path().join("go"), "").unwrap();
    until("it is reaped", || !exists(left));
    assert!(hosts.wait().unwrap().success());
}

#[test]
fn a_stop_at_any_moment_ends_the_run_once() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let (body, lane) = (same(program(&["sleep", "100"], dir.path())), Arc::new(lane()));
    let runs: Vec<_> = (0..60).map(|_| bench.start(order(&body, &lane))).collect();
    for (n, run) in runs.iter().enumerate() {
        bench.stop(*run, if n % 2 == 0 { StopHow::Interrupt } else { StopHow::Kill });
    }
    for run in runs {
        assert_ne!(bench.end_of(run), Outcome::Finished);
        bench.stop(run, StopHow::Kill);
    }
    assert!(bench.is_quiet());
}

#[test]
fn dropping_the_runner_kills_and_tells() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "trap '' TERM INT; echo $$ > main; while :; do sleep 0.05; done";
    let run = bench.start(order(&same(shell(script, dir.path())), &Arc::new(lane())));
    let pid = pid_in(&dir.path().join("main"));
    let bench = bench.without_runner();
    assert!(!is_alive(pid));
    assert!(bench.end_of(run).error().is_some());
}

/// In a container, the session of a worker is often one from outside of its PID namespace, which the kernel gives as 0.
#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn trees_end_in_a_pid_namespace_too() {
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]).args(arguments);
        command.stdin(std::process::Stdio::null()).output()
    };
    if !unshare(&["true"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no PID namespaces for us here");
        return;
    }
    let exe = std::env::current_exe().unwrap();
    let output = unshare(&[
        exe.to_str().unwrap(),
        "--exact",
        "an_interrupt_reaches_the_group_and_nothing_is_left_of_the_tree",
        "a_kill_takes_those_that_ignore_an_interrupt",
        "sessions_of_their_own_do_not_escape",
        "what_stays_after_an_ordinary_end_is_reaped_when_it_ends",
    ])
    .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("4 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
