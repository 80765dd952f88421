use hq_core::{
    CrashLimit, FromWorker, IdList, JobSpec, JobTarget, LaneReport, NOTIFY_MAX, OUTPUT_MAX, OrdinalRange, Outcome,
    QueueSpec, Refusal, Submit, WorkerConfig,
};
use hq_scheduler::autoscale::check_queue;

/// Jobs or workers that a command may name; a listing may name any number.
const IDS_MAX: u64 = 1 << 20;
/// Tasks of a submit.
const TASKS_MAX: u64 = 1 << 31;
/// Bytes of a submit: one answer and one message to a worker can hold it, with room for what is beside it.
const SUBMIT_MAX: usize = (64 << 20) - (64 << 10);
/// Bytes of a reason for a cancel.
const REASON_MAX: usize = 200;
/// Bytes of a name.
const NAME_MAX: usize = 4096;
/// Bytes of the name of a queue, and of all its arguments.
const QUEUE_NAME_MAX: usize = 48;
const QUEUE_WORDS_MAX: usize = 64 * 1024;
/// Bytes of an error text that are kept.
const ERROR_MAX: usize = 16 * 1024;
/// Cpus and GPUs of a machine.
const CPUS_MAX: usize = 65_536;
const GPUS_MAX: usize = 1024;
/// Bytes of the name of a GPU.
const GPU_ID_MAX: usize = 64;

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::Invalid(text.into())
}

/// A command may name that many.
pub(super) fn ids(ids: &IdList) -> Result<(), Refusal> {
    if ids.len() > IDS_MAX {
        return Err(invalid(format!("{} ids are too many for one command: at most {IDS_MAX} are possible", ids.len())));
    }
    Ok(())
}

/// A queue of allocations: what it asks for, and what of it becomes part of scripts and paths. No backend hears of one that is refused.
pub(super) fn queue(spec: &QueueSpec) -> Result<(), Refusal> {
    check_queue(spec).map_err(|refusal| invalid(refusal.to_string()))?;
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if let Some(name) = &spec.name
        && (name.is_empty() || name.len() > QUEUE_NAME_MAX || !is_plain(name) || name.starts_with(['-', '.']))
    {
        return Err(invalid(format!(
            "the name of a queue has 1 to {QUEUE_NAME_MAX} of the characters A-Z a-z 0-9 . _ -, the first no `-` or `.`"
        )));
    }
    let commands = [&spec.start_command, &spec.stop_command, &spec.wrap_command].into_iter().flatten();
    let words = spec.worker_args.iter().chain(&spec.submit_args).chain(commands).chain([&spec.backend]);
    let mut size = 0;
    for word in words {
        size += word.len();
        if word.chars().any(char::is_control) {
            return Err(invalid("an argument of the queue has a line break or another control character in it"));
        }
    }
    if size > QUEUE_WORDS_MAX {
        return Err(invalid(format!(
            "the arguments of the queue have {size} bytes: at most {QUEUE_WORDS_MAX} are possible"
        )));
    }
    Ok(())
}

/// A reason for a cancel.
pub(super) fn reason(reason: Option<&String>) -> Result<(), Refusal> {
    match reason.map(String::len) {
        Some(len) if len > REASON_MAX => {
            Err(invalid(format!("the reason has {len} bytes: at most {REASON_MAX} are possible")))
        }
        _ => Ok(()),
    }
}

/// A name as it comes from a client.
pub(super) fn name(what: &str, name: &str) -> Result<(), Refusal> {
    if name.len() > NAME_MAX {
        return Err(invalid(format!("the {what} has {} bytes: at most {NAME_MAX} are possible", name.len())));
    }
    if name.contains(['\n', '\t', '\0']) {
        return Err(invalid(format!("the {what} must not contain newlines, tabs or zero bytes")));
    }
    Ok(())
}

/// A job that is to be made.
pub(super) fn spec(spec: &JobSpec) -> Result<(), Refusal> {
    name("name of the job", &spec.name)
}

/// Names and bounds of a submit; whether its numbers and columns fit together is the scheduler's to check.
pub(super) fn submit(submit: &Submit) -> Result<(), Refusal> {
    let count = submit.ids.count();
    if let JobTarget::New(new) = &submit.job {
        spec(new)?;
    }
    name("kind of the tasks", &submit.kind)?;
    if count > TASKS_MAX {
        Err(invalid(format!("{count} tasks are too many for one submit: at most {TASKS_MAX} are possible")))
    } else if submit.weight() > SUBMIT_MAX {
        let max = SUBMIT_MAX >> 20;
        Err(invalid(format!(
            "the tasks are too large for one message: at most {max} MiB are possible; send them in pieces"
        )))
    } else if submit.kind.is_empty() {
        Err(invalid("the tasks have no kind"))
    } else if submit.profiles.iter().any(|profile| profile.crash_limit == CrashLimit::Limit(0)) {
        Err(invalid("a crash limit has to be at least 1"))
    } else {
        Ok(())
    }
}

/// What a worker says of itself; its resources are checked where they are read.
pub(super) fn worker(config: &WorkerConfig) -> Result<(), String> {
    let kinds = config.kinds.iter().map(|kind| ("a kind of bodies", kind.as_str()));
    let texts = [
        ("the hostname", config.hostname.as_str()),
        ("the group", config.group.as_str()),
        ("the working directory", config.work_dir.as_str()),
    ];
    if let Some((what, text)) = texts.into_iter().chain(kinds).find(|(_, text)| text.len() > NAME_MAX) {
        return Err(format!("{what} has {} bytes: at most {NAME_MAX} are possible", text.len()));
    }
    if config.kinds.len() > 1024 {
        return Err(format!("{} kinds of bodies are too many: at most 1024 are possible", config.kinds.len()));
    }
    Ok(())
}

/// Cuts texts to what is kept; says whether the ranges of a message are such that a sound worker may send them.
pub(super) fn from_worker(message: &mut FromWorker) -> bool {
    match message {
        FromWorker::Report(report) => {
            report.lanes.iter_mut().for_each(cut_texts);
            true
        }
        FromWorker::Recalled { tasks, .. } => tasks.iter().all(is_range),
        FromWorker::Notify { message, .. } => message.len() <= NOTIFY_MAX,
        FromWorker::Output(output) => output.data.len() <= OUTPUT_MAX,
        FromWorker::Overview(state) => {
            let gpus = || state.nvidia.iter().chain(&state.amd).flatten();
            state.cpus.len() <= CPUS_MAX && gpus().count() <= GPUS_MAX && gpus().all(|gpu| gpu.id.len() <= GPU_ID_MAX)
        }
        FromWorker::Resume(resume) => {
            resume.reports.iter_mut().flat_map(|report| &mut report.lanes).for_each(cut_texts);
            resume.grants.iter().flat_map(|held| &held.backlog).all(is_range)
        }
        FromWorker::Hello(_) | FromWorker::Heartbeat | FromWorker::Leaving { .. } => true,
    }
}

fn is_range(range: &OrdinalRange) -> bool {
    range.len > 0 && range.start.0.checked_add(range.len).is_some()
}

fn cut_texts(lane: &mut LaneReport) {
    for end in &mut lane.ended {
        let text = match &mut end.outcome {
            Outcome::Failed(text) => text,
            Outcome::FailedOf(failure) => &mut failure.error,
            Outcome::Finished | Outcome::Killed => continue,
        };
        if text.len() > ERROR_MAX {
            let at = (0..=ERROR_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{
        Blob, Epoch, GpuState, GrantId, HardwareState, Ordinal, Profile, Report, Request, RunEnd, RunId, Share, Span,
        TaskIds,
    };

    use super::*;

    #[test]
    fn submits_are_bounded() {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let target = JobTarget::New(JobSpec::default());
        let three = Submit::array(target, TaskIds::Next(3), "program", Blob::default(), profile);
        submit(&three).unwrap();
        type Spoil = fn(&mut Submit);
        let cases: [(&str, Spoil); 4] = [
            ("no kind", |s| s.kind.clear()),
            ("kind of the tasks", |s| s.kind = "a\0".to_owned()),
            ("crash limit", |s| s.profiles[0].crash_limit = CrashLimit::Limit(0)),
            ("too many", |s| s.ids = TaskIds::Next(u32::MAX)),
        ];
        for (part, spoil) in cases {
            let mut spoilt = three.clone();
            spoil(&mut spoilt);
            let Err(Refusal::Invalid(text)) = submit(&spoilt) else { panic!("{part}") };
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn texts_are_bounded() {
        for (name_len, ok) in [(NAME_MAX, true), (NAME_MAX + 1, false)] {
            let config = WorkerConfig::new("h".repeat(name_len), hq_core::WorkerResources::cpus(1).unwrap());
            assert_eq!(worker(&config).is_ok(), ok, "{name_len}");
        }
        assert!(reason(Some(&"x".repeat(200))).is_ok() && reason(Some(&"x".repeat(201))).is_err());
        assert!(name("name", "a b").is_ok() && name("name", "a\nb").is_err());
        assert!(ids(&IdList::range(0, 1 << 20)).is_ok() && ids(&IdList::range(0, (1 << 20) + 1)).is_err());
    }

    #[test]
    fn messages_and_overviews_are_bounded() {
        let run = RunId { task: Ordinal(0), grant: GrantId { epoch: Epoch(1), n: 1 } };
        for (len, ok) in [(0, true), (NOTIFY_MAX, true), (NOTIFY_MAX + 1, false)] {
            assert_eq!(from_worker(&mut FromWorker::Notify { run, message: "x".repeat(len) }), ok, "{len}");
        }
        let gpu = |len| GpuState { id: "x".repeat(len), ..GpuState::default() };
        for (cpus, nvidia, ok) in [
            (CPUS_MAX, vec![gpu(GPU_ID_MAX); 8], true),
            (CPUS_MAX + 1, vec![], false),
            (1, vec![gpu(1); GPUS_MAX + 1], false),
            (1, vec![gpu(GPU_ID_MAX + 1)], false),
        ] {
            let state = HardwareState { cpus: vec![Share(0); cpus], nvidia: Some(nvidia), ..HardwareState::default() };
            assert_eq!(from_worker(&mut FromWorker::Overview(Box::new(state))), ok, "{cpus}");
        }
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        let grant = GrantId { epoch: Epoch(1), n: 1 };
        let outcome = Outcome::Failed(format!("x{}", "ä".repeat(ERROR_MAX)));
        let end = RunEnd { task: Ordinal(0), age: Span::ZERO, took: Span::ZERO, outcome };
        let mut message =
            FromWorker::Report(Report { seq: 1, lanes: vec![LaneReport { grant, ended: vec![end], started: None }] });
        assert!(from_worker(&mut message));
        let FromWorker::Report(report) = &message else { panic!("still a report") };
        let Outcome::Failed(text) = &report.lanes[0].ended[0].outcome else { panic!("still failed") };
        assert_eq!(text.len(), ERROR_MAX - 1);
        for (start, len, ok) in [(0, 1, true), (0, 0, false), (u64::MAX, 2, false)] {
            let tasks = vec![OrdinalRange::new(Ordinal(start), len)];
            assert_eq!(from_worker(&mut FromWorker::Recalled { grant, n: 1, tasks }), ok);
        }
    }
}
