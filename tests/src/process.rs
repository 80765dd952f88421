use std::{
    fs::{self, File},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{PATIENCE, eventually_within};

/// A server or a worker, in a process group of its own, killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command; both its outputs go to the file.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::create(&log).expect("a log can be made");
        let second = file.try_clone().expect("a log can be shared");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(second).process_group(0).spawn();
        Self { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")), log }
    }

    /// Its pid, as the starter knows it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Where it prints to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.raw(), signal);
    }

    /// Sends a signal to its process group.
    pub fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.raw(), signal);
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_none()
    }

    /// Waits for its end. The exit code, or minus the signal that ended it.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        self.wait_within(PATIENCE)
    }

    /// As [`Process::wait`], with a bound of its own.
    ///
    /// # Panics
    /// If the time is over.
    #[track_caller]
    pub fn wait_within(&mut self, bound: Duration) -> i32 {
        let what = format!("end of {}", self.log.display());
        let look = || self.child.try_wait().expect("a child can be waited for");
        let status = eventually_within(bound, &what, look, Option::is_some).expect("it has ended");
        status.code().unwrap_or_else(|| -status.signal().unwrap_or_default())
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn raw(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_running() {
            self.kill();
        }
    }
}
