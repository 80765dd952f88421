use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{PATIENCE, Table};

/// How long a command may take that answers at once, on a busy machine and in a debug build.
pub const ANSWER: Duration = Duration::from_secs(5);

/// What a command that has ended left behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// The command, to be shown.
    pub command: String,
    /// Exit code; minus the signal that ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Output {
    /// Standard output of a command that succeeded.
    ///
    /// # Panics
    /// If it failed.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "failed: {self:?}");
        &self.stdout
    }

    /// Both outputs of a command that failed with this exit code.
    ///
    /// # Panics
    /// If it ended in another way.
    #[track_caller]
    pub fn fails(&self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Standard error of a command that succeeded.
    ///
    /// # Panics
    /// If it failed.
    #[track_caller]
    pub fn log(&self) -> &str {
        self.ok();
        &self.stderr
    }

    /// The one table printed by a command that succeeded.
    ///
    /// # Panics
    /// If it failed or printed anything else.
    #[track_caller]
    pub fn table(&self) -> Table {
        Table::one(self.ok())
    }

    /// The JSON printed by a command that succeeded.
    ///
    /// # Panics
    /// If it failed or printed anything else.
    #[track_caller]
    pub fn json(&self) -> Value {
        let stdout = self.ok();
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("no JSON: {error}: {self:?}"))
    }
}

/// Runs a command to its end, without input.
///
/// # Panics
/// If it cannot be run or does not end within [`PATIENCE`]; it is killed then.
#[track_caller]
pub fn finish(command: &mut Command) -> Output {
    let shown = format!("{command:?}");
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{shown}: {error}"));
    // Readers of their own, so that a full pipe does not stop the command.
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let code = wait(&mut child, &shown);
    let took = start.elapsed();
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().expect("a reader does not panic"));
    Output { command: shown, code, stdout, stderr, took }
}

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[track_caller]
fn wait(child: &mut Child, shown: &str) -> i32 {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code().unwrap_or_else(|| -status.signal().unwrap_or_default());
        }
        if start.elapsed() > 3 * PATIENCE {
            let _ = child.kill();
            panic!("does not end: {shown}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}
