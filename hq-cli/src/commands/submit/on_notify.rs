use std::process::Stdio;

use anyhow::Context as _;
use hq_client::{CallError, EventBatch, EventStream};
use hq_core::{Event, EventKind, JobId, TaskNumber, WorkerId};
use tokio::{process::Command, sync::mpsc};
use tracing::warn;

use crate::server::Server;

/// A program that is run for each word of a task: its own words, and the message as one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnNotify(Vec<String>);

/// Reads the option, which is split as a shell does it.
///
/// # Errors
/// For quotes without an end, and where there is no word.
pub(crate) fn on_notify(text: &str) -> Result<OnNotify, String> {
    match shlex::split(text) {
        None => Err("a quote has no end".to_owned()),
        Some(words) if words.first().is_none_or(String::is_empty) => Err("expected a program".to_owned()),
        Some(words) => Ok(OnNotify(words)),
    }
}

/// Words that wait for the program before the server has to keep them, which it does for a while.
const WORDS_MAX: usize = 65_536;

/// What a task says.
#[derive(Debug)]
struct Word {
    job: JobId,
    task: TaskNumber,
    worker: WorkerId,
    message: String,
}

/// Listens since before the submit, so that nothing is missed.
pub(super) struct Listener {
    stream: EventStream,
    program: OnNotify,
}

impl Listener {
    /// Listens from now on.
    pub(super) async fn start(server: &Server, program: OnNotify) -> Result<Self, CallError> {
        Ok(Self { stream: server.subscribe(None, None).await?, program })
    }

    /// Runs the program for each word of `job`, one run after the other, until the job is completed or the server is
    /// gone for good, and all that was said before has been dealt with. A run that fails is only warned of.
    pub(super) async fn wait(self, server: &Server, job: JobId) -> anyhow::Result<()> {
        let Self { stream, program } = self;
        let (words, mut queue) = mpsc::channel(WORDS_MAX);
        let runs = async move {
            while let Some(word) = queue.recv().await {
                run(&program, &word).await;
            }
        };
        let (heard, ()) = tokio::join!(hear(stream, server, job, words), runs);
        heard
    }
}

/// Hands on what tasks of `job` say until it is completed.
async fn hear(mut stream: EventStream, server: &Server, job: JobId, words: mpsc::Sender<Word>) -> anyhow::Result<()> {
    let mut is_narrow = false;
    loop {
        let events = match stream.next().await {
            Some(Ok(EventBatch::Events(events))) => events,
            Some(Ok(EventBatch::Reset { .. })) => {
                warn!("Some messages of tasks are lost: the server had to drop them");
                // So may be the end.
                if is_completed(server, job).await? {
                    return Ok(());
                }
                continue;
            }
            Some(Err(CallError::Lost(_))) | None => match resume(server, job).await? {
                Some(again) => {
                    (stream, is_narrow) = (again, true);
                    continue;
                }
                None => return Ok(()),
            },
            Some(Err(error)) => return Err(error.into()),
        };
        let mut born = None;
        for event in events {
            match event {
                Event { kind: EventKind::JobCompleted { job: ended }, .. } if ended == job => return Ok(()),
                Event { kind: EventKind::TaskNotify { job: of, task, worker, message }, .. } if of == job => {
                    // Nobody runs the program any more: this ends as well.
                    let _ = words.send(Word { job, task, worker, message }).await;
                }
                Event { kind: EventKind::JobSubmitted { job: of, .. }, seq, .. } if of == job && !is_narrow => {
                    born = Some(seq);
                    break;
                }
                _ => {}
            }
        }
        // What comes before the submit is not about it; from here on nothing else has to be sent.
        if let Some(seq) = born {
            is_narrow = true;
            stream = server.subscribe(Some(seq), Some(vec![job])).await?;
        }
    }
}

/// Listens to the server that comes back; none where the job is completed, or no server is looked for.
async fn resume(server: &Server, job: JobId) -> anyhow::Result<Option<EventStream>> {
    while server.come_back().await? {
        let listen = async {
            let stream = server.subscribe(None, Some(vec![job])).await?;
            Ok::<_, CallError>((stream, is_completed(server, job).await?))
        };
        match listen.await {
            Ok((stream, is_completed)) => {
                warn!("The server is back: messages that tasks sent meanwhile are lost");
                return Ok((!is_completed).then_some(stream));
            }
            // It went away once more.
            Err(CallError::Lost(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

async fn is_completed(server: &Server, job: JobId) -> Result<bool, CallError> {
    let jobs = server.jobs(job.into()).await?;
    Ok(jobs.iter().all(|job| !job.is_open && job.counts.is_terminated()))
}

async fn run(program: &OnNotify, word: &Word) {
    let result = command(program, word).await;
    if let Err(error) = result {
        warn!("The program of --on-notify failed for task {}: {error:#}", word.task);
    }
}

async fn command(OnNotify(words): &OnNotify, word: &Word) -> anyhow::Result<()> {
    let (program, args) = words.split_first().context("it has no name")?;
    let status = Command::new(program)
        .args(args)
        .arg(&word.message)
        .env("HQ_JOB_ID", word.job.to_string())
        .env("HQ_TASK_ID", word.task.to_string())
        .env("HQ_WORKER_ID", word.worker.to_string())
        .stdin(Stdio::null())
        .status()
        .await
        .with_context(|| format!("cannot run {program:?}"))?;
    anyhow::ensure!(status.success(), "{status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_split_as_by_a_shell() {
        for (text, expected) in [
            ("bash -c 'echo $HQ_JOB_ID $0 >> log'", Some(&["bash", "-c", "echo $HQ_JOB_ID $0 >> log"][..])),
            ("p", Some(&["p"])),
            (r#"p "a b" c\ d"#, Some(&["p", "a b", "c d"])),
            ("p 'a", None),
            ("", None),
            ("''", None),
        ] {
            let expected = expected.map(|words| OnNotify(words.iter().map(|word| (*word).to_owned()).collect()));
            assert_eq!(on_notify(text).ok(), expected, "{text}");
        }
    }
}
