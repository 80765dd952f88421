//! Outputs of programs that go into stream files.

mod common;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
};

use common::{Bench, blob, failed, file, lane, order, program, same, shell, until};
use hq_core::{Channel, Instance, JobId, OUTPUT_MAX, Outcome, ProgramSpec, RunId, RunOutput, Stdio, TaskNumber};
use hq_node::{StartOrder, StopHow};
use hq_stream::{StreamDir, StreamError, Summary};
use hq_worker::EndSink;

const JOB: JobId = JobId(3);
const TASK: TaskNumber = TaskNumber(7);

/// The same with both outputs streamed into `log` beside the working directory.
fn streamed(spec: ProgramSpec) -> ProgramSpec {
    let stream = Stdio::Stream { dir: blob(&format!("{}/log", std::str::from_utf8(&spec.cwd).unwrap())) };
    ProgramSpec { stdout: stream.clone(), stderr: stream, ..spec }
}

fn instance(spec: &ProgramSpec, task: u32, instance: u32) -> StartOrder {
    let mut order = order(&same(spec.clone()), &Arc::new(lane()));
    (order.number, order.instance) = (TaskNumber(task), Instance(instance));
    order
}

fn open(dir: &Path) -> StreamDir {
    let stream = StreamDir::open(&dir.join("log"), None).unwrap();
    assert_eq!(stream.warnings().collect::<Vec<_>>(), Vec::<String>::new());
    stream
}

fn cat(stream: &StreamDir, task: u32, channel: Channel) -> String {
    let mut text = vec![];
    let sink = |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        Ok::<(), StreamError>(())
    };
    stream.copy(JOB, TaskNumber(task), channel, sink).unwrap();
    String::from_utf8(text).unwrap()
}

fn both(dir: &Path, task: u32) -> (String, String) {
    let stream = open(dir);
    (cat(&stream, task, Channel::Stdout), cat(&stream, task, Channel::Stderr))
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("log")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn outputs_are_in_one_file_when_their_tasks_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    for (task, script, outcome) in [
        (0, "echo out; echo err >&2", Outcome::Finished),
        (1, "", Outcome::Finished),
        (2, "printf 'no newline'; exit 3", failed("Program terminated with exit code 3.")),
    ] {
        let spec = streamed(shell(script, dir.path()));
        assert_eq!(bench.run(instance(&spec, task, 0)), outcome);
        assert!(open(dir.path()).task(JOB, TaskNumber(task)).unwrap().is_finished, "{script}");
    }
    assert_eq!(both(dir.path(), 0), ("out\n".to_owned(), "err\n".to_owned()));
    assert_eq!(both(dir.path(), 1), (String::new(), String::new()));
    assert_eq!(both(dir.path(), 2), ("no newline".to_owned(), String::new()));
    let names = files(dir.path());
    let [name] = &names[..] else { panic!("{names:?}") };
    assert!(name.len() == 16 && name.ends_with(".hqs"), "{name}");
    let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("log"), mode(&format!("log/{name}"))), (0o700, 0o600));
}

#[test]
fn a_later_task_goes_on_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let spec = streamed(shell("echo $HQ_TASK_ID", dir.path()));
    bench.run(instance(&spec, 1, 0));
    // Nobody writes it any more.
    until("the thread of the file has ended", || !has_thread("hq-stream"));
    bench.run(instance(&spec, 2, 0));
    assert_eq!(files(dir.path()).len(), 1);
    assert_eq!((both(dir.path(), 1).0, both(dir.path(), 2).0), ("1\n".to_owned(), "2\n".to_owned()));
    // One that was removed is not.
    fs::remove_file(dir.path().join("log").join(&files(dir.path())[0])).unwrap();
    bench.run(instance(&spec, 3, 0));
    assert_eq!(both(dir.path(), 3).0, "3\n");
    assert_eq!(open(dir.path()).summary().tasks, 1);
    fs::remove_dir_all(dir.path().join("log")).unwrap();
    until("the thread of the file has ended", || !has_thread("hq-stream"));
    bench.run(instance(&spec, 4, 0));
    assert_eq!((both(dir.path(), 4).0.as_str(), files(dir.path()).len()), ("4\n", 1));
}

/// Whether a thread of that name is in this process, also one of another test.
fn has_thread(name: &str) -> bool {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.flatten().any(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name))
}

#[test]
fn placeholders_and_a_mix_with_files() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let spec = ProgramSpec {
        stdout: Stdio::Stream { dir: blob("deep/log-%{JOB_ID}-%{SERVER_UID}") },
        stderr: file("err"),
        submit_dir: blob(dir.path().to_str().unwrap()),
        ..shell("echo out; echo err >&2", dir.path())
    };
    assert_eq!(bench.run_spec(spec.clone()), Outcome::Finished);
    assert_eq!(fs::read_to_string(dir.path().join("err")).unwrap(), "err\n");
    let stream = StreamDir::open(&dir.path().join("deep/log-3-uid7"), None).unwrap();
    assert_eq!((cat(&stream, 7, Channel::Stdout).as_str(), stream.summary().sizes), ("out\n", [4, 0]));

    let other = ProgramSpec { stdout: file("out"), stderr: spec.stdout.clone(), ..spec.clone() };
    assert_eq!(bench.run(instance(&other, 8, 0)), Outcome::Finished);
    let stream = StreamDir::open(&dir.path().join("deep/log-3-uid7"), None).unwrap();
    assert_eq!(cat(&stream, 8, Channel::Stderr), "err\n");

    let two = ProgramSpec { stderr: Stdio::Stream { dir: blob("elsewhere") }, ..spec };
    assert_eq!(bench.run_spec(two), failed("both outputs of a task have to be streamed into the same directory"));
}

#[test]
fn what_cannot_be_started_has_an_end_and_what_cannot_be_made_fails_the_task() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let outcome = bench.run_spec(streamed(program(&["no-such-program"], dir.path())));
    assert!(matches!(outcome, Outcome::Failed(text) if text.contains("was not found")));
    let info = open(dir.path()).task(JOB, TASK).unwrap();
    assert_eq!((info.is_finished, info.sizes), (true, [0, 0]));
    fs::write(dir.path().join("plain"), "").unwrap();
    let path = format!("{}/plain", dir.path().display());
    let spec = ProgramSpec { stdout: Stdio::Stream { dir: blob(&path) }, ..shell("true", dir.path()) };
    let text = format!("cannot create a stream file in `{path}`: File exists (os error 17)");
    assert_eq!(bench.run_spec(spec), failed(&text));
    assert_eq!(bench.run_spec(shell("true", dir.path())), Outcome::Finished);
}

#[test]
fn much_output_comes_through_whole() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "seq 1 200000; seq 1 200000 | sed s/^/e/ >&2";
    let runs: Vec<_> =
        (0..3).map(|task| bench.start(instance(&streamed(shell(script, dir.path())), task, 0))).collect();
    for run in runs {
        assert_eq!(bench.end_of(run), Outcome::Finished);
    }
    let lines = |mark: &str| (1..=200_000).map(|n| format!("{mark}{n}\n")).collect::<String>();
    for task in 0..3 {
        assert!(both(dir.path(), task) == (lines(""), lines("e")), "task {task}");
    }
    assert_eq!(files(dir.path()).len(), 1);
}

#[test]
fn output_is_on_disk_before_its_task_ends() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let run = bench.start(instance(&streamed(shell("echo soon; exec sleep 1000", dir.path())), 0, 0));
    until("the file is there", || dir.path().join("log").exists() && !files(dir.path()).is_empty());
    until("the output is there", || open(dir.path()).task(JOB, TaskNumber(0)).is_ok());
    assert_eq!(both(dir.path(), 0).0, "soon\n");
    assert!(!open(dir.path()).task(JOB, TaskNumber(0)).unwrap().is_finished);
    bench.stop(run, StopHow::Kill);
    assert!(bench.end_of(run).error().is_some());
    assert!(open(dir.path()).task(JOB, TaskNumber(0)).unwrap().is_finished);
}

#[test]
fn what_is_left_running_in_the_background_holds_up_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "{ trap '' PIPE; while [ ! -e go ]; do sleep 0.01; done; echo late; touch gone; } & echo early";
    assert_eq!(bench.run_spec(streamed(shell(script, dir.path()))), Outcome::Finished);
    fs::write(dir.path().join("go"), "").unwrap();
    until("the rest has ended", || dir.path().join("gone").exists());
    assert_eq!(both(dir.path(), 7).0, "early\n");
}

#[test]
fn s2_a_run_that_its_worker_takes_down_is_there_and_has_no_end() {
    let dir = tempfile::tempdir().unwrap();
    let spec = streamed(shell("echo Start; touch started; sleep 1000", dir.path()));
    let first = Bench::programs(dir.path());
    let run = first.start(instance(&spec, 0, 0));
    until("it runs", || dir.path().join("started").exists());
    let first = first.without_runner();
    assert!(first.end_of(run).error().is_some());
    assert_eq!(both(dir.path(), 0).0, "Start\n");
    assert!(!open(dir.path()).task(JOB, TaskNumber(0)).unwrap().is_finished);

    let second = Bench::programs(dir.path());
    let again = streamed(shell("echo Start; echo End $HQ_INSTANCE_ID", dir.path()));
    assert_eq!(second.run(instance(&again, 0, 1)), Outcome::Finished);
    assert_eq!(both(dir.path(), 0).0, "Start\nEnd 1\n");
    let expected = Summary {
        files: 2,
        jobs: 1,
        tasks: 1,
        streams: 2,
        opened: 0,
        sizes: [12, 0],
        superseded: 1,
        superseded_sizes: [6, 0],
    };
    assert_eq!(open(dir.path()).summary(), expected);
}

/// Hears ends and what is printed.
#[derive(Default)]
struct Listener {
    printed: Mutex<Vec<RunOutput>>,
    ended: Mutex<Option<Outcome>>,
}

impl EndSink for Listener {
    fn ended(&self, _run: RunId, outcome: Outcome) {
        *self.ended.lock().unwrap() = Some(outcome);
    }

    fn printed(&self, job: JobId, output: RunOutput) {
        assert_eq!(job, JOB);
        self.printed.lock().unwrap().push(output);
    }
}

impl Listener {
    fn count(&self) -> usize {
        self.printed.lock().unwrap().len()
    }

    fn has_ended(&self) -> bool {
        self.ended.lock().unwrap().is_some()
    }

    /// What was printed, which has to be whole from this offset on.
    fn text(&self, channel: Channel, from: u64) -> String {
        let mut bytes = vec![];
        for output in self.printed.lock().unwrap().iter().filter(|output| output.channel == channel) {
            assert_eq!(output.offset, from + bytes.len() as u64);
            bytes.extend_from_slice(&output.data);
        }
        String::from_utf8(bytes).unwrap()
    }
}

fn live(script: &str, dir: &Path) -> ProgramSpec {
    ProgramSpec { stdout: Stdio::Live, stderr: Stdio::Live, ..shell(script, dir) }
}

#[test]
fn live_output_waits_for_who_listens_and_for_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let start = |spec: &ProgramSpec, task| {
        let listener = Arc::new(Listener::default());
        let order = instance(spec, task, 0);
        let run = order.run;
        bench.start_with(order, listener.clone());
        (run, listener)
    };
    let much = live("seq 1 100000; echo end >&2", dir.path());
    let (_, deaf) = start(&much, 0);
    until("nobody is waited for", || deaf.has_ended());
    assert_eq!(deaf.count(), 0);

    bench.listen(JOB, Some(2));
    let (_, slow) = start(&much, 1);
    until("there was room for two pieces", || slow.count() == 2);
    assert!(!slow.has_ended(), "most of it is still to come");
    bench.listen(JOB, Some(1000));
    until("all of it is told", || slow.has_ended());
    let lines: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(slow.text(Channel::Stdout, 0) == lines && slow.text(Channel::Stderr, 0) == "end\n");
    assert!(slow.printed.lock().unwrap().iter().all(|output| output.data.len() <= OUTPUT_MAX));

    // Nobody waits with a task that was told to end, or for who has left.
    bench.listen(JOB, None);
    bench.listen(JOB, Some(0));
    let (run, stopped) = start(&live("seq 1 100000; sleep 1000", dir.path()), 2);
    bench.stop(run, StopHow::Kill);
    until("it is told to end", || stopped.has_ended());
    let (_, left) = start(&much, 3);
    bench.listen(JOB, None);
    until("who listened has left", || left.has_ended());
    assert_eq!((stopped.count(), left.count()), (0, 0));
}

#[test]
fn a_task_whose_program_has_ended_can_still_be_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let pid = || fs::read_to_string(dir.path().join("pid")).ok().filter(|pid| pid.ends_with('\n'));
    // Reaped: its number is nobody's.
    let is_gone = || pid().is_some_and(|pid| !Path::new("/proc").join(pid.trim_end()).exists());
    let ended = |task| {
        let _ = fs::remove_file(dir.path().join("pid"));
        let listener = Arc::new(Listener::default());
        let order = instance(&live("echo $$ > pid; echo last words", dir.path()), task, 0);
        let run = order.run;
        bench.start_with(order, listener.clone());
        until("its process is gone", is_gone);
        (run, listener)
    };
    bench.listen(JOB, Some(0));
    for how in [StopHow::Kill, StopHow::Leave] {
        let (run, listener) = ended(0);
        bench.stop(run, how);
        until("nobody is waited for", || listener.has_ended());
        assert_eq!((listener.count(), listener.ended.lock().unwrap().clone()), (0, Some(Outcome::Finished)));
    }
    let (run, listener) = ended(1);
    bench.stop(run, StopHow::Interrupt);
    assert!(!listener.has_ended(), "what it printed waits for who listens");
    bench.listen(JOB, Some(1));
    until("there was room for it", || listener.has_ended());
    assert_eq!(listener.text(Channel::Stdout, 0), "last words\n");
}

#[test]
fn who_listens_to_a_stream_finds_in_the_file_what_it_missed() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let script = "echo early; until [ -e go ]; do sleep 0.01; done; echo late; seq 1 100000";
    let listener = Arc::new(Listener::default());
    bench.start_with(instance(&streamed(shell(script, dir.path())), 0, 0), listener.clone());
    until("it is in the file", || {
        open_if_there(dir.path()).is_some_and(|stream| stream.task(JOB, TaskNumber(0)).is_ok())
    });
    bench.listen(JOB, Some(1));
    fs::write(dir.path().join("go"), "").unwrap();
    until("nobody is waited for", || listener.has_ended());
    assert_eq!(listener.count(), 1, "there was room for no more");
    assert!(listener.text(Channel::Stdout, 6).starts_with("late\n"));
    let whole: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(both(dir.path(), 0).0 == format!("early\nlate\n{whole}"));
}

fn open_if_there(dir: &Path) -> Option<StreamDir> {
    StreamDir::open(&dir.join("log"), None).ok()
}
