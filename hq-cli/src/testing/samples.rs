//! The data behind the sample outputs of the command line's contract.

use std::sync::Arc;

use hq_core::{
    BatchJob, Blob, CouplingItem, IdList, Instance, JobDetail, JobId, JobInfo, JobSpec, JobTarget, LossReason, OnClose,
    PROGRAM_KIND, Parts, Profile, ProgramBody, ProgramSpec, Request, ResourceDef, ResourceEntry, ServerInfo, Span,
    Stdio, Submit, SubmitInfo, TaskCounts, TaskIds, TaskInfo, TaskNumber, TaskState, WallTime, WorkerConfig, WorkerId,
    WorkerInfo, WorkerResources, WorkerRuntime,
};

/// 2026-01-31 07:32:45 UTC
const START: u64 = 1_769_844_765_000_000;
/// 2026-01-31 07:33:00 UTC
const SUBMITTED: WallTime = WallTime(START + 15_000_000);

pub(crate) fn server() -> ServerInfo {
    ServerInfo {
        server_uid: "asShcJ".into(),
        client_host: "login1".into(),
        client_port: 39249,
        worker_host: "login1".into(),
        worker_port: 33517,
        version: "0.26.2".into(),
        pid: 9768,
        started: WallTime(START),
        journal: None,
    }
}

fn resources(defs: &[&str], coupling: Vec<CouplingItem>) -> WorkerResources {
    let defs = defs.iter().map(|text| ResourceDef::parse(text).expect("a definition")).collect();
    WorkerResources::new(defs, coupling).expect("resources")
}

pub(crate) fn workers() -> Vec<WorkerInfo> {
    let first = WorkerConfig::new("worker1", resources(&["cpus=4x2", "fairy=sum(10001000)", "mem=sum(4000)"], vec![]));
    let mut second = WorkerConfig::new("cn01", resources(&["cpus=[[0],[1,2]]", "gpus/nvidia=[0,1]"], vec![]));
    second.allocation = Some(BatchJob { manager: "PBS".into(), id: "x1234".into() });
    second.group = "x1234".into();
    second.time_limit = Some(Span::secs(3600));
    let worker = |id, config, ended| WorkerInfo {
        id: WorkerId(id),
        config: Arc::new(config),
        started: WallTime(START + 803_595),
        ended,
        runtime: Some(WorkerRuntime::Single { assigned: 0, running: 0, reserved: false }),
        last_task: None,
    };
    let lost = Some((WallTime(START + 20_000_000), LossReason::ConnectionLost));
    vec![worker(1, first, None), worker(12, second, lost)]
}

pub(crate) fn busy_worker() -> WorkerInfo {
    let coupling = CouplingItem { resource1_idx: 0, group1_idx: 0, resource2_idx: 2, group2_idx: 1, weight: 256 };
    let mut config = WorkerConfig::new("worker1", resources(&["cpus=2x3", "ddd=sum(123)", "foo=2x3"], vec![coupling]));
    config.work_dir = "/tmp/w1".into();
    config.time_limit = Some(Span::secs(58 * 60 + 49));
    config.pid = 9774;
    WorkerInfo {
        id: WorkerId(1),
        config: Arc::new(config),
        started: WallTime(START + 803_595),
        ended: None,
        runtime: Some(WorkerRuntime::Single { assigned: 1, running: 1, reserved: false }),
        last_task: Some((JobId(1), TaskNumber(18), WallTime(START + 11_283_448))),
    }
}

pub(crate) fn job(id: u32) -> JobInfo {
    JobInfo {
        id: JobId(id),
        spec: JobSpec { name: "job".into(), max_fails: None },
        is_open: false,
        counts: TaskCounts::default(),
        cancel_reason: None,
        submitted: SUBMITTED,
        ended: None,
    }
}

fn named(id: u32, name: &str, counts: TaskCounts) -> JobInfo {
    JobInfo { spec: JobSpec { name: name.into(), max_fails: None }, counts, ..job(id) }
}

pub(crate) fn jobs() -> Vec<JobInfo> {
    let waiting = TaskCounts { waiting: 1, ..TaskCounts::default() };
    let running = TaskCounts { running: 200, ..TaskCounts::default() };
    let open = JobInfo { is_open: true, cancel_reason: Some("too slow".into()), ..job(2) };
    vec![named(1, "bash", waiting), open, named(13, &("a".repeat(40) + &"b".repeat(40)), running)]
}

pub(crate) fn summary_jobs() -> Vec<JobInfo> {
    let waiting = (1..=12).map(|id| named(id, "job", TaskCounts { waiting: 2, ..TaskCounts::default() }));
    let finished = named(13, "job", TaskCounts { finished: 1, ..TaskCounts::default() });
    let failed = named(14, "job", TaskCounts { failed: 1, ..TaskCounts::default() });
    waiting.chain([finished, failed]).collect()
}

fn file(path: &str) -> Stdio {
    Stdio::File { path: path.as_bytes().into(), on_close: OnClose::Keep }
}

fn program(args: &[&str]) -> ProgramSpec {
    ProgramSpec {
        args: args.iter().map(|arg| Blob::from(arg.as_bytes())).collect(),
        cwd: b"%{SUBMIT_DIR}"[..].into(),
        stdout: file("%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stdout"),
        stderr: file("%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stderr"),
        submit_dir: b"/w"[..].into(),
        ..ProgramSpec::default()
    }
}

fn encoded(body: &ProgramBody) -> Blob {
    postcard::to_stdvec(body).expect("encodes").into()
}

fn one_cpu() -> Profile {
    Profile::new(Request::cpus(1).expect("a request"))
}

fn task(number: u32, state: TaskState, workers: &[u32], start: u64, took: Option<u64>) -> TaskInfo {
    let started = WallTime(SUBMITTED.0 + start);
    TaskInfo {
        number: TaskNumber(number),
        state,
        instance: Instance(0),
        variant: 0,
        workers: workers.iter().map(|id| WorkerId(*id)).collect(),
        started: Some(started),
        ended: took.map(|took| WallTime(started.0 + took)),
        error: None,
        delay: None,
    }
}

fn detail(info: JobInfo, submit: Submit, tasks: Vec<TaskInfo>, rest: Vec<(TaskState, IdList)>) -> JobDetail {
    JobDetail {
        info,
        submits: vec![SubmitInfo { submitted: SUBMITTED, submit: Arc::new(submit) }],
        tasks,
        rest,
        workers: (1..=3).map(|id| (WorkerId(id), format!("worker{id}"))).collect(),
        server_uid: "asShcJ".into(),
        delayed: None,
    }
}

fn array(ids: IdList, spec: ProgramSpec, profile: Profile) -> Submit {
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Given(ids), PROGRAM_KIND, encoded(&ProgramBody::Same(spec)), profile)
}

/// A waiting job whose ids are given as a text.
pub(crate) fn array_job(ids: &str) -> JobDetail {
    let ids = IdList::parse(ids).expect("ids");
    let info = JobInfo { counts: TaskCounts { waiting: ids.len(), ..TaskCounts::default() }, ..job(1) };
    let submit = array(ids.clone(), program(&["true"]), one_cpu());
    detail(info, submit, vec![], vec![(TaskState::Waiting, ids)])
}

pub(crate) fn running_array() -> JobDetail {
    let long = "echo a long argument is broken between words so that no line of it is longer than eighty characters";
    let mut spec = program(&["bash", "-c", long]);
    spec.stderr = Stdio::Null;
    spec.env = [("B", "2"), ("HQ_X", "hidden"), ("A", "1")]
        .map(|(name, value)| (Blob::from(name.as_bytes()), Blob::from(value.as_bytes())))
        .into();
    let entries = ["cpus=2", "foo=1"].map(|text| ResourceEntry::parse(text).expect("an entry"));
    let request = Request::new(entries.into()).and_then(|request| request.with_weight(25_000)).expect("a request");
    let submit = array(IdList::range(10, 10), spec, Profile::new(request));
    let counts = TaskCounts { running: 4, finished: 4, waiting: 2, ..TaskCounts::default() };
    let finished = (10..14).map(|n| task(n, TaskState::Finished, &[n % 3 + 1], 1_000, Some(1_003_000)));
    let running = (14..18).map(|n| task(n, TaskState::Running, &[n % 3 + 1], 1_010_000, None));
    let rest = vec![(TaskState::Waiting, IdList::range(18, 2))];
    detail(named(2, "bash", counts), submit, finished.chain(running).collect(), rest)
}

pub(crate) fn failed_job() -> JobDetail {
    let submit = array(IdList::range(0, 1), program(&["foo"]), one_cpu());
    let mut failed = task(0, TaskState::Failed, &[1], 9_000, Some(4_000));
    failed.error = Some(
        "Cannot execute \"foo\": No such file or directory (os error 2)\n\
         The program that you have tried to execute (`foo`) was not found."
            .into(),
    );
    let ended = Some(WallTime(SUBMITTED.0 + 13_000));
    let info = JobInfo { ended, ..named(3, "foo", TaskCounts { failed: 1, ..TaskCounts::default() }) };
    detail(info, submit, vec![failed], vec![])
}

pub(crate) fn graph_job() -> JobDetail {
    let mut submit = array(IdList::range(0, 2), program(&["a"]), one_cpu());
    submit.shared = encoded(&ProgramBody::PerTask);
    let parts = ["a", "b"].map(|name| postcard::to_stdvec(&program(&[name])).expect("encodes"));
    submit.parts = Parts::new(parts).expect("parts");
    let counts = TaskCounts { finished: 1, waiting: 1, ..TaskCounts::default() };
    let info = JobInfo { is_open: true, submitted: WallTime(SUBMITTED.0 + 21_000_000), counts, ..job(4) };
    let tasks = vec![task(0, TaskState::Finished, &[1], 21_000_000, Some(3_000))];
    detail(info, submit, tasks, vec![(TaskState::Waiting, IdList::range(1, 1))])
}

/// When [`task_list_jobs`] are looked at.
pub(crate) const TASK_LIST_NOW: WallTime = WallTime(SUBMITTED.0 + 514_000);

pub(crate) fn task_list_jobs() -> [JobDetail; 3] {
    let first = task(10, TaskState::Finished, &[1], 0, Some(1_003_999));
    let gang = task(1, TaskState::Running, &[1, 2], 1_000, None);
    let ids = |first| IdList::range(first, 1);
    let mut third = failed_job();
    third.tasks[0].started = Some(SUBMITTED);
    third.tasks[0].ended = Some(WallTime(SUBMITTED.0 + 4_000));
    let submit = || array(IdList::range(0, 2), program(&["true"]), one_cpu());
    let job_of = |id, counts| named(id, "job", counts);
    let finished = TaskCounts { finished: 1, ..TaskCounts::default() };
    let mixed = TaskCounts { running: 1, waiting: 1, ..TaskCounts::default() };
    [
        detail(job_of(1, finished), array(ids(10), program(&["true"]), one_cpu()), vec![first], vec![]),
        detail(job_of(2, mixed), submit(), vec![gang], vec![(TaskState::Waiting, ids(0))]),
        third,
    ]
}

/// Task 2 waits for 1 and 3, has two variants, and failed.
pub(crate) fn task_with_everything() -> JobDetail {
    let variant = |entries: &[&str]| {
        let entries = entries.iter().map(|text| ResourceEntry::parse(text).expect("an entry")).collect();
        Request::new(entries).expect("a request")
    };
    let first = variant(&["cpus=2", "x=1"]).with_weight(5_000).expect("a weight");
    let variants = hq_core::Variants::new(vec![first, variant(&["cpus=1.5"])]).expect("variants");
    let mut spec = program(&["bash", "-c", "exit 1"]);
    spec.env = vec![(Blob::from(&b"A"[..]), Blob::from(&b"1"[..]))];
    spec.stderr = Stdio::Null;
    let mut submit = array(IdList::parse("1,3,2").expect("ids"), spec, Profile::new(variants));
    let on = |number| (TaskNumber(number), hq_core::DepKind::Success);
    submit.deps = hq_core::Deps::new([vec![], vec![], vec![on(1), on(3)]]).expect("deps");
    let mut failed = task(2, TaskState::Failed, &[1], 0, Some(1_003_000));
    failed.error = Some("Program terminated with exit code 1.".into());
    let finished = |number| task(number, TaskState::Finished, &[1], 0, Some(1_000));
    let counts = TaskCounts { finished: 2, failed: 1, ..TaskCounts::default() };
    detail(named(1, "bash", counts), submit, vec![finished(1), failed, finished(3)], vec![])
}

/// A time request that no worker meets; a gang; two variants of which one is met.
pub(crate) fn explanations() -> [hq_core::Explanation; 3] {
    use hq_core::{
        Amount, Explanation, Need, Obstacle, Policy, Quantity, Requirement, Standing, VariantFit, WorkerFit,
    };
    let resource = |name: &str, wanted: u32, total: u32| {
        let amount = Amount::units;
        Requirement {
            need: Need::Resource {
                resource: hq_core::ResourceName::new(name).expect("a name"),
                wanted: Quantity::Amount(amount(wanted), Policy::Compact),
                total: amount(total),
                free: amount(total),
            },
            obstacle: (wanted > total).then_some(Obstacle::TooLittle),
        }
    };
    let fit = |worker, variants: Vec<Vec<Requirement>>| WorkerFit {
        worker: WorkerId(worker),
        obstacle: None,
        variants: variants.into_iter().map(|requirements| VariantFit { requirements }).collect(),
    };
    let explained = |workers| Explanation {
        standing: Standing::Infeasible,
        dependencies: 0,
        jobs: IdList::default(),
        unmet: IdList::default(),
        delay: None,
        queue: None,
        blockers: vec![],
        workers,
    };
    let time = Requirement {
        need: Need::Time { wanted: Span::secs(3600), left: Some(Span::millis(298_700)) },
        obstacle: Some(Obstacle::LifeTooShort),
    };
    let nodes = |group| Requirement {
        need: Need::Nodes { wanted: 2, group, able: group, idle: group },
        obstacle: (group < 2).then_some(Obstacle::GroupTooSmall),
    };
    let variants = vec![vec![resource("cpus", 2, 4)], vec![resource("cpus", 1, 4), resource("gpus", 1, 0)]];
    [
        explained(vec![fit(1, vec![vec![time, resource("cpus", 10, 5)]])]),
        explained(vec![fit(1, vec![vec![nodes(2)]]), fit(2, vec![vec![nodes(1)]]), fit(3, vec![vec![nodes(2)]])]),
        explained(vec![fit(1, variants)]),
    ]
}

/// One event of each kind, as a server tells them.
pub(crate) fn events() -> Vec<hq_core::Event> {
    use hq_core::{
        EventKind, FailedRun, FinishedTask, GpuState, HardwareState, LossReason, NetworkCounters, Seq, Share,
    };
    let at = |ms: u64| WallTime(START + ms * 1_000);
    let spec = |name: &str| JobSpec { name: name.into(), max_fails: Some(2) };
    let mut submit = array(IdList::parse("0-8:4").expect("ids"), program(&["true"]), one_cpu());
    submit.profiles[0].time_limit = Some(Span::millis(1_500));
    let mut streamed = program(&["true"]);
    streamed.stderr = Stdio::Stream { dir: b"logs/%{JOB_ID}"[..].into() };
    submit.shared = encoded(&ProgramBody::Same(streamed));
    let mut graph = (*graph_job().submits[0].submit).clone();
    graph.job = JobTarget::Attach(JobId(2));
    let run = |workers: &[u32]| FailedRun {
        instance: Instance(1),
        variant: 1,
        workers: workers.iter().map(|id| WorkerId(*id)).collect(),
        started: at(30),
    };
    let finished = |task, started| FinishedTask {
        task: TaskNumber(task),
        instance: Instance(0),
        started: at(started),
        ended: at(started + 5),
    };
    let started = |job, task, instance, workers: &[u32]| EventKind::TaskStarted {
        job: JobId(job),
        task: TaskNumber(task),
        instance: Instance(instance),
        variant: 0,
        workers: workers.iter().map(|id| WorkerId(*id)).collect(),
    };
    let state = HardwareState {
        at: at(12),
        cpus: vec![Share(1_000), Share(10_000)],
        memory_total: 1 << 30,
        memory_free: 1 << 20,
        network: NetworkCounters { rx_bytes: 1, tx_bytes: 2, rx_packets: 3, tx_packets: 4, rx_errors: 5, tx_errors: 6 },
        nvidia: Some(vec![GpuState { id: "BUS1".into(), processor: Share(1_000), memory: Share(5_000) }]),
        amd: None,
    };
    let ids = |text: &str| IdList::parse(text).expect("ids");
    let kinds = vec![
        (0, EventKind::ServerStarted { server_uid: "asShcJ".into() }),
        (10, EventKind::WorkerConnected { worker: WorkerId(1), config: Arc::clone(&busy_worker().config) }),
        (12, EventKind::WorkerOverview { worker: WorkerId(1), state: Box::new(state) }),
        (14, EventKind::JobSubmitted { job: JobId(1), spec: Some(spec("true")), tasks: 3, submit: Arc::new(submit) }),
        (15, EventKind::JobOpened { job: JobId(2), spec: spec("open") }),
        (16, EventKind::JobSubmitted { job: JobId(2), spec: None, tasks: 2, submit: Arc::new(graph) }),
        (20, started(1, 0, 0, &[1])),
        (
            40,
            EventKind::TasksFinished {
                job: JobId(1),
                workers: vec![WorkerId(1)],
                variant: 0,
                tasks: vec![finished(0, 20), finished(4, 26)],
            },
        ),
        (41, EventKind::TaskNotify { job: JobId(2), task: TaskNumber(0), worker: WorkerId(1), message: "hi".into() }),
        (42, started(2, 0, 1, &[1, 2])),
        (
            43,
            EventKind::TaskFailed {
                job: JobId(2),
                task: TaskNumber(0),
                error: "Program terminated with exit code 1.".into(),
                run: Some(run(&[1, 2])),
            },
        ),
        (
            44,
            EventKind::TaskFailed {
                job: JobId(1),
                task: TaskNumber(8),
                error: "Time limit reached".into(),
                run: Some(run(&[1])),
            },
        ),
        (45, EventKind::TasksAborted { job: JobId(2), tasks: ids("1") }),
        (46, EventKind::JobClosed { job: JobId(2) }),
        (47, EventKind::TasksCanceled { job: JobId(3), tasks: ids("5-6") }),
        (48, EventKind::JobCanceled { job: JobId(3), reason: Some("no need".into()) }),
        (49, EventKind::JobCompleted { job: JobId(1) }),
        (49, EventKind::QueueCreated { queue: hq_core::QueueId(1), spec: Arc::new(hq_core::QueueSpec::new("pbs")) }),
        (49, EventKind::AllocationQueued { queue: hq_core::QueueId(1), allocation: "1.job".into(), workers: 2 }),
        (49, EventKind::AllocationStarted { queue: hq_core::QueueId(1), allocation: "1.job".into() }),
        (49, EventKind::AllocationFinished { queue: hq_core::QueueId(1), allocation: "1.job".into() }),
        (49, EventKind::QueueRemoved { queue: hq_core::QueueId(1) }),
        (50, EventKind::WorkerLost { worker: WorkerId(1), reason: LossReason::HeartbeatLost }),
    ];
    let event = |(i, (ms, kind))| hq_core::Event { seq: Seq(i as u64 + 1), at: at(ms), kind };
    kinds.into_iter().enumerate().map(event).collect()
}
