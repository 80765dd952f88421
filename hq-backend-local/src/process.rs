use std::{
    io,
    process::{Child, Command, Stdio},
};

use crate::{Spawn, SpawnError, WorkerStart, WorkerStop};

/// Starts each worker as a process, by the command of the request.
///
/// The process gets `HQ_ALLOCATION_ID` in its environment, reads nothing, and writes where this process writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessSpawn {}

impl ProcessSpawn {
    /// A spawner; it has no settings.
    pub const fn new() -> Self {
        Self {}
    }
}

impl Spawn for ProcessSpawn {
    fn spawn(&self, worker: WorkerStart) -> Result<Box<dyn WorkerStop>, SpawnError> {
        let Some((program, args)) = worker.request.command.split_first() else {
            let message = "no command to start a worker is known: the engine listens to nobody".to_owned();
            return Err(SpawnError { message, is_temporary: false });
        };
        let program = &program.text;
        let child = Command::new(program)
            .args(args.iter().map(|arg| &arg.text))
            .env("HQ_ALLOCATION_ID", &worker.allocation.id)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|e| error(program, &e))?;
        Ok(Box::new(Process { child, is_stopped: false }))
    }
}

struct Process {
    child: Child,
    is_stopped: bool,
}

impl WorkerStop for Process {
    fn ended(&mut self) -> Option<Option<String>> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) if status.success() || self.is_stopped => Some(None),
            Ok(Some(status)) => Some(Some(format!("its worker ended with {status}"))),
            Err(e) => Some(Some(format!("its worker cannot be watched: {e}"))),
        }
    }

    fn stop(&mut self) {
        // An error means that it has ended: its guardian sees to what it ran.
        self.is_stopped = true;
        let _ = self.child.kill();
    }
}

fn error(program: &str, e: &io::Error) -> SpawnError {
    let is_temporary = matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory);
    SpawnError { message: format!("cannot start `{program}`: {e}"), is_temporary }
}
