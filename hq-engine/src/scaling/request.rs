use std::path::PathBuf;

use hq_backend::{AllocationRequest, BatchRequest, ExtraArg, JobName, ScriptTextError, ShellLine, Word};
use hq_core::{QueueId, QueueSpec};

/// How workers of allocations are started by processes and batch scripts.
#[derive(Clone, Debug)]
pub struct BatchWorkers {
    /// The program whose `worker start` they are.
    pub program: PathBuf,
    /// Their `RUST_LOG`.
    pub rust_log: Option<String>,
}

/// An allocation to be asked for.
pub(super) struct Wanted<'a> {
    pub(super) queue: QueueId,
    pub(super) spec: &'a QueueSpec,
    pub(super) key: String,
    pub(super) number: u64,
    pub(super) workers: u32,
    pub(super) dir: Option<String>,
}

/// What a backend is told of it. `home` is the directory that workers find the server by.
///
/// # Errors
/// A word of the queue that no script can hold.
pub(super) fn request(
    wanted: Wanted<'_>,
    how: Option<&BatchWorkers>,
    home: Option<&str>,
) -> Result<AllocationRequest, ScriptTextError> {
    let Wanted { queue, spec, key, number, workers, dir } = wanted;
    let command = match (how, home) {
        _ if !spec.command.is_empty() => spec.command.iter().map(Word::from).collect(),
        (Some(how), Some(home)) => command(how, home, spec),
        _ => vec![],
    };
    let line = |text: &Option<String>| text.clone().map(ShellLine::new).transpose();
    let batch = match dir {
        None => None,
        Some(directory) => Some(BatchRequest {
            directory: directory.into(),
            name: JobName::new(match &spec.name {
                Some(name) => format!("{name}-{number}"),
                None => format!("hq-{queue}-{number}"),
            })?,
            args: spec.submit_args.iter().map(ExtraArg::new).collect::<Result<_, _>>()?,
            start_command: line(&spec.start_command)?,
            wrap_command: line(&spec.wrap_command)?,
            stop_command: line(&spec.stop_command)?,
            rust_log: how.and_then(|how| how.rust_log.clone()),
            is_trial: false,
        }),
    };
    Ok(AllocationRequest { key, workers, time_limit: spec.time_limit, command, worker: spec.worker.clone(), batch })
}

/// `hq worker start …`, in the words and quotes that readers of scripts expect.
fn command(how: &BatchWorkers, home: &str, spec: &QueueSpec) -> Vec<Word> {
    let program = how.program.to_string_lossy().into_owned();
    let mut words = vec![Word::from(program), "worker".into(), "start".into()];
    let idle = spec.idle_timeout.unwrap_or(hq_core::Span::secs(300));
    words.extend(["--idle-timeout".into(), Word::quoted(idle.to_string())]);
    if matches!(spec.backend.as_str(), "slurm" | "pbs") {
        words.extend(["--manager".into(), Word::quoted(spec.backend.clone())]);
    }
    words.extend(["--server-dir".into(), Word::quoted(home)]);
    let quoted = |word: &String| word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
    words.extend(spec.worker_args.iter().map(|word| quoted(word).map_or_else(|| Word::from(word), Word::quoted)));
    words
}
