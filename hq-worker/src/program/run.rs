use std::{
    ffi::CString,
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use hq_core::{
    FailCause, Outcome, RunId, SubmitBody, TaskRun,
    placeholder::{self, Placeholders},
};
use hq_node::{Lane, StartOrder, StopHow};
use hq_stream::Head;

use super::{
    failure,
    frame::Frame,
    lookup::{self, to_path},
    outputs::{Outputs, Removals},
    plan::{Plan, Shared},
    runner::Common,
    task_dir::TaskDir,
    why::Why,
};
use crate::{
    Done,
    notify::Ticket,
    process::{Child, Failure, HasNul, Launcher, ProcessEnd, Program, Stage, StringTable, Task},
    stream::{Feed, HowOver, Names, Watcher},
};

/// A run of a program, not yet started.
pub(super) struct ProgramRun {
    order: StartOrder,
    done: Done,
    common: Arc<Common>,
}

/// A run whose program has been started.
pub(super) struct LiveRun {
    done: Done,
    kept: Kept,
    common: Arc<Common>,
    /// Kills for want of memory before it began.
    kills: u64,
}

/// What is kept while a program runs.
struct Kept {
    task_dir: Option<TaskDir>,
    removals: Removals,
    /// Held: with it the run may say something.
    ticket: Option<Ticket>,
    feed: Option<Feed>,
}

/// How a run ended, to be told once its output is safe.
pub(super) struct RunEnd {
    done: Done,
    outcome: Outcome,
    feed: Option<Feed>,
    how: HowOver,
}

/// Why a program was not started.
struct NotStarted {
    why: Why,
    /// Its output has an end, too.
    feed: Option<Feed>,
}

impl<W: Into<Why>> From<W> for NotStarted {
    fn from(why: W) -> Self {
        Self { why: why.into(), feed: None }
    }
}

/// A submit by the address of its body.
pub(super) type PlanKey = usize;
/// What the shared bytes of a submit mean. The weak pointer keeps the address from being used again.
pub(super) type PlanOf = (Weak<SubmitBody>, Arc<Shared>);
/// A submit and a lane by their addresses.
pub(super) type FrameKey = (usize, usize);
/// What runs of a submit in a lane share.
pub(super) type FrameOf = (Weak<SubmitBody>, Weak<Lane>, Arc<Frame>);

impl ProgramRun {
    pub(super) fn new(order: StartOrder, done: Done, common: Arc<Common>) -> Self {
        Self { order, done, common }
    }

    fn try_launch(&self, launcher: &mut Launcher) -> Result<(Child, Kept), NotStarted> {
        let shared = self.shared()?;
        match &*shared {
            Shared::Same(plan) => {
                let entry = [("HQ_ENTRY", &self.order.part[..])];
                let variables = if self.order.part.is_empty() { &[][..] } else { &entry };
                self.launch_plan(launcher, plan, variables, || self.frame(plan))
            }
            Shared::PerTask => {
                let plan = Plan::of_part(&self.order.part)?;
                self.launch_plan(launcher, &plan, &[], || self.new_frame(&plan).map(Arc::new))
            }
            Shared::Template(template) => {
                let (plan, variables) = template.of_part(&self.order.part)?;
                let variables: Vec<(&str, &[u8])> =
                    variables.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
                self.launch_plan(launcher, &plan, &variables, || self.frame(&template.common))
            }
        }
    }

    /// The shared part of the body, read once per submit.
    fn shared(&self) -> Result<Arc<Shared>, String> {
        let body = &self.order.body;
        let make = || Ok((Arc::downgrade(body), Arc::new(Shared::new(body)?)));
        self.common.plans.get_or(&Arc::as_ptr(body).addr(), make).map(|(_, shared)| shared)
    }

    /// The frame for the submit and the lane, made once.
    fn frame(&self, plan: &Plan) -> Result<Arc<Frame>, String> {
        let (body, lane) = (&self.order.body, &self.order.lane);
        let make = || Ok((Arc::downgrade(body), Arc::downgrade(lane), Arc::new(self.new_frame(plan)?)));
        let key = (Arc::as_ptr(body).addr(), Arc::as_ptr(lane).addr());
        self.common.frames.get_or(&key, make).map(|(_, _, frame)| frame)
    }

    fn new_frame(&self, plan: &Plan) -> Result<Frame, String> {
        Frame::new(&self.common.env, plan, &self.order, &self.common.resources)
    }

    fn launch_plan(
        &self,
        launcher: &mut Launcher,
        plan: &Plan,
        variables: &[(&str, &[u8])],
        frame: impl FnOnce() -> Result<Arc<Frame>, String>,
    ) -> Result<(Child, Kept), NotStarted> {
        let (order, spec) = (&self.order, &plan.spec);
        let known = Placeholders {
            job: Some(order.job),
            task: Some(order.number),
            instance: Some(order.instance),
            submit_dir: Some(&spec.submit_dir),
            cwd: None,
            server_uid: Some(&order.lane.server_uid),
        };
        let cwd = placeholder::working_dir(&spec.cwd, &known);
        // First of all, so that they are there whatever else fails.
        let outputs = Outputs::create(spec, &cwd, &known, |dir| self.join(dir))?;
        match self.launch_with(launcher, plan, &cwd, &outputs, variables, frame) {
            Ok((child, task_dir, ticket)) => {
                let (removals, feed) = outputs.begin();
                Ok((child, Kept { task_dir, removals, ticket, feed }))
            }
            Err(why) => Err(NotStarted { why, feed: outputs.into_feed() }),
        }
    }

    /// Joins the run to the stream file of a directory; none: to those who listen.
    fn join(&self, dir: Option<&Path>) -> Result<Feed, String> {
        let order = &self.order;
        let head = Head { server_uid: order.lane.server_uid.clone(), worker: order.worker };
        let run = TaskRun { job: order.job, task: order.number, instance: order.instance };
        let (names, sink) = (Names { id: order.run, run }, self.done.sink());
        match dir {
            Some(dir) => self.common.streams.join(dir, &head, names, sink),
            None => self.common.streams.join_live(names, sink),
        }
    }

    fn launch_with(
        &self,
        launcher: &mut Launcher,
        plan: &Plan,
        cwd: &[u8],
        outputs: &Outputs,
        variables: &[(&str, &[u8])],
        frame: impl FnOnce() -> Result<Arc<Frame>, String>,
    ) -> Result<(Child, Option<TaskDir>, Option<Ticket>), Why> {
        let (order, spec) = (&self.order, &plan.spec);
        let frame = frame()?;
        let is_gang = order.lane.request.nodes() > 0;
        let needs_dir = spec.task_dir || is_gang;
        let task_dir =
            needs_dir.then(|| TaskDir::create(&self.common.work_dir, order, &self.common.task_dirs)).transpose()?;
        let ticket = self.ticket()?;
        let own = self.own_variables(variables, task_dir.as_ref(), is_gang, ticket.as_ref())?;
        let stdin = plan.open_stdin().and_then(|stdin| stdin.map(|file| above_stdio(file.into())).transpose());
        let no_stdin = |error| Why::of_io(format!("cannot open the standard input of the task: {error}"), &error);
        let stdin = stdin.map_err(no_stdin)?;
        let null = self.common.null.as_fd();
        let [stdout, stderr] = outputs.descriptors(null);

        let exec_error = |errno| failure::of_exec(errno, spec, cwd);
        let mut file = lookup::find(&spec.args[0], frame.path.as_deref(), cwd).map_err(exec_error)?;
        let mut args = vec![&plan.args];
        if let Some(wrapper) = &frame.wrapper {
            args.insert(0, &wrapper.args);
            file = lookup::find(wrapper.program, frame.path.as_deref(), cwd)
                .map_err(|errno| cannot_wrap(wrapper.program, errno))?;
        }
        let directory = if cwd.is_empty() { &b"."[..] } else { cwd };
        let program = Program {
            path: &c_string(&file)?,
            args: &args,
            env: &[&frame.env, &own],
            cwd: &c_string(directory)?,
            stdio: [stdin.as_ref().map_or(null, AsFd::as_fd), stdout, stderr],
        };
        let child = spawn(launcher, &program).map_err(|failure| failure::of_start(failure, spec, cwd))?;
        Ok((child, task_dir, ticket))
    }

    /// The right of this run to say something.
    fn ticket(&self) -> Result<Option<Ticket>, String> {
        let Some((desk, sink)) = self.common.notify.as_ref().zip(self.done.sink()) else { return Ok(None) };
        let ticket = desk.tickets.issue(self.order.run, sink);
        ticket.map(Some).map_err(|error| format!("cannot make a key for messages of the task: {error}"))
    }

    /// The variables of this run alone.
    fn own_variables(
        &self,
        variables: &[(&str, &[u8])],
        dir: Option<&TaskDir>,
        is_gang: bool,
        ticket: Option<&Ticket>,
    ) -> Result<StringTable, String> {
        let order = &self.order;
        let mut own = StringTable::default();
        let mut set = |name: &str, value: &[u8]| {
            own.push(&[name.as_bytes(), b"=", value]).map_err(|HasNul| format!("the value of {name} holds a zero byte"))
        };
        set("HQ_TASK_ID", order.number.to_string().as_bytes())?;
        set("HQ_INSTANCE_ID", order.instance.to_string().as_bytes())?;
        if let Some(ticket) = ticket {
            set("HQ_ACCESS_KEY", &ticket.access_key())?;
        }
        for (name, value) in variables {
            set(name, value)?;
        }
        let Some(dir) = dir else { return Ok(own) };
        set("HQ_TASK_DIR", dir.path().as_os_str().as_bytes())?;
        set("HQ_ERROR_FILENAME", dir.error_file().as_os_str().as_bytes())?;
        if is_gang {
            let (nodes, hosts) = dir.write_hosts(&order.lane.hosts)?;
            set("HQ_NODE_FILE", nodes.as_os_str().as_bytes())?;
            set("HQ_HOST_FILE", hosts.as_os_str().as_bytes())?;
            set("HQ_NUM_NODES", order.lane.hosts.len().to_string().as_bytes())?;
        }
        Ok(own)
    }
}

/// How often a file that somebody has open for writing is tried again. A program that was written a moment ago can be
/// open in a child of its writer that is itself on its way to `execve`.
const BUSY_ATTEMPTS: u32 = 5;

/// Starts a program; makes its working directory if it is missing, and leaves a script that names no interpreter to the
/// shell, as shells do.
fn spawn(launcher: &mut Launcher, program: &Program<'_>) -> Result<Child, Failure> {
    let mut result = launcher.spawn(program);
    if let Err(Failure { stage: Stage::Directory, errno: libc::ENOENT }) = result {
        fs::create_dir_all(to_path(program.cwd.to_bytes())).map_err(|error| Failure {
            stage: Stage::Directory,
            errno: error.raw_os_error().unwrap_or(libc::ENOENT),
        })?;
        result = launcher.spawn(program);
    }
    for attempt in 0..BUSY_ATTEMPTS {
        if !matches!(result, Err(Failure { stage: Stage::Exec, errno: libc::ETXTBSY })) {
            break;
        }
        thread::sleep(Duration::from_millis(1 << attempt));
        result = launcher.spawn(program);
    }
    if let Err(Failure { stage: Stage::Exec, errno: libc::ENOEXEC }) = result {
        let script = to_path(program.cwd.to_bytes()).join(to_path(program.path.to_bytes()));
        if lookup::is_plain_script(&script) {
            return spawn_by_shell(launcher, program);
        }
    }
    result
}

fn spawn_by_shell(launcher: &mut Launcher, program: &Program<'_>) -> Result<Child, Failure> {
    let mut shell = StringTable::default();
    let script = program.path.to_bytes();
    let pushed = shell.push(&[b"/bin/sh"]).and_then(|()| shell.push(&[script]));
    debug_assert!(pushed.is_ok(), "a C string has no zero byte");
    let rest: Vec<StringTable> = program.args.iter().map(|table| table.without_first()).collect();
    let args: Vec<&StringTable> = [&shell].into_iter().chain(&rest).collect();
    launcher.spawn(&Program { path: c"/bin/sh", args: &args, ..*program })
}

fn cannot_wrap(program: &[u8], errno: i32) -> String {
    let (name, error) = (String::from_utf8_lossy(program), io::Error::from_raw_os_error(errno));
    format!("cannot pin the task to its cpus: the program `{name}` cannot be executed: {error}")
}

fn c_string(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| format!("the path `{}` holds a zero byte", Path::new(to_path(bytes)).display()))
}

/// The same file with a number that no standard stream has, so that setting up one stream cannot overwrite another.
pub(crate) fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?) }
}

impl Task for ProgramRun {
    type Live = LiveRun;
    type End = RunEnd;

    fn run(&self) -> RunId {
        self.order.run
    }

    fn launch(self, launcher: &mut Launcher) -> Result<(Child, LiveRun), RunEnd> {
        let kills = self.common.memory.begin();
        match self.try_launch(launcher) {
            Ok((child, kept)) => Ok((child, LiveRun { done: self.done, kept, common: self.common, kills })),
            Err(NotStarted { why, feed }) => {
                let cause = if why.is_lack { FailCause::NoStart } else { FailCause::Other };
                let outcome = Outcome::failed_of(cause, why.text);
                Err(RunEnd { done: self.done, outcome, feed, how: HowOver::Ended })
            }
        }
    }

    /// What is left to be done at its end must not take long: the thread has the outputs of others to write.
    fn watcher(LiveRun { kept, .. }: &LiveRun) -> Option<Watcher> {
        let is_quick = kept.task_dir.is_none() && kept.removals.is_empty();
        kept.feed.as_ref().filter(|_| is_quick).map(Feed::watcher)
    }

    fn give_up(self) -> Done {
        self.done
    }

    fn finish(LiveRun { done, kept, common, kills }: LiveRun, end: ProcessEnd, how: Option<StopHow>) -> RunEnd {
        let Kept { task_dir, removals, ticket, feed } = kept;
        // What it says after its end is nobody's.
        drop(ticket);
        let error_file = task_dir.as_ref().map(TaskDir::error_file);
        // A run that we end is ended by nobody else.
        let was_oom_kill = || how.is_none() && common.memory.was_kill(kills);
        let error = failure::of_end(&end, error_file.as_deref(), was_oom_kill);
        if how.is_none() && error.as_ref().is_some_and(|failure| failure.cause != FailCause::OutOfMemory) {
            common.memory.pass_by();
        }
        // Whoever sees the end of the task must not find its directory any more.
        drop(task_dir);
        if error.is_none() {
            for path in removals {
                if let Err(error) = fs::remove_file(&path) {
                    tracing::warn!("cannot remove the output file `{}`: {error}", path.display());
                }
            }
        }
        let outcome = error.map_or(Outcome::Finished, |failure| Outcome::failed_of(failure.cause, failure.error));
        let how = match how {
            None => HowOver::Ended,
            Some(StopHow::Interrupt | StopHow::Kill) => HowOver::Stopped,
            Some(StopHow::Leave) => HowOver::CutOff,
        };
        RunEnd { done, outcome, feed, how }
    }

    fn tell(RunEnd { done, outcome, feed, how }: RunEnd) {
        match feed {
            None => done.end(outcome),
            Some(feed) => feed.end(how, done, outcome),
        }
    }
}
