use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{CommandError, CommandLine, CommandOutput, CommandRunner};

/// Commands that run at the same time at most: a manager is not to be flooded.
const AT_ONCE: usize = 8;
/// A program that has ended may have left its output open to a child: that is waited for only so long.
const GRACE: Duration = Duration::from_millis(500);

/// Runs commands as processes of this machine, a few at a time.
///
/// Each is a process group of its own, which is killed whole at its time limit, and when the call is dropped.
#[derive(Clone, Debug)]
pub struct ProcessRunner {
    places: Arc<Semaphore>,
}

impl ProcessRunner {
    /// A runner; clones share the number of commands at a time.
    pub fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Default for ProcessRunner {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl CommandRunner for ProcessRunner {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        // The semaphore is never closed; the time limit begins with the command and not with the wait for a place.
        let _place = self.places.acquire().await.ok();
        let start = |e: io::Error| CommandError::Start(Arc::new(e));
        let mut child = start_child(line).map_err(start)?;
        let mut group = Group(child.id());
        let mut output = CommandOutput::default();
        let (mut out_cut, mut err_cut) = (false, false);
        let ended = {
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let max = line.output_bytes_max;
            let feed = feed(child.stdin.take(), &line.stdin);
            let read = async {
                tokio::join!(
                    drain(stdout, &mut output.stdout, &mut out_cut, max),
                    drain(stderr, &mut output.stderr, &mut err_cut, max),
                    feed,
                );
            };
            tokio::select! {
                biased;
                status = follow(&mut child, &mut group, read) => Some(status),
                () = sleep(line.time_limit) => None,
            }
        };
        output.is_cut = out_cut || err_cut;
        match ended {
            Some(Ok(status)) => {
                output.code = status.code();
                Ok(output)
            }
            Some(Err(e)) => Err(start(e)),
            None => {
                drop(group);
                let _ = child.wait().await;
                Err(CommandError::TimedOut { limit: line.time_limit, output })
            }
        }
    }
}

/// A process group that is killed when this is dropped. Forgotten as soon as its leader is reaped: its number may be
/// somebody else's then, and what the leader has left behind is left on purpose.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // An error means that nobody is left.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

fn start_child(line: &CommandLine) -> io::Result<Child> {
    let mut command = Command::new(&line.program);
    command.args(&line.args).process_group(0).kill_on_drop(true);
    command.stdin(if line.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(dir) = line.dir.as_ref().filter(|dir| dir.is_dir()) {
        command.current_dir(dir);
    }
    for (name, value) in &line.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.spawn()
}

/// Waits for the end of the child, and reads what it says meanwhile.
async fn follow(child: &mut Child, group: &mut Group, read: impl Future<Output = ()>) -> io::Result<ExitStatus> {
    tokio::pin!(read);
    let (status, is_read) = tokio::select! {
        () = &mut read => (child.wait().await, true),
        status = child.wait() => (status, false),
    };
    group.0 = None;
    if !is_read {
        let _ = timeout(GRACE, read).await;
    }
    status
}

async fn feed(stdin: Option<impl tokio::io::AsyncWrite + Unpin>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin {
        // Who does not read all of it does not want it.
        let _ = stdin.write_all(bytes).await;
    }
}

/// Reads all, keeps the beginning. An error is an end.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, is_cut: &mut bool, max: usize) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; 16 << 10];
    while let Ok(n @ 1..) = pipe.read(&mut chunk).await {
        let room = max.saturating_sub(kept.len()).min(n);
        kept.extend(chunk.iter().take(room));
        *is_cut |= room < n;
    }
}
