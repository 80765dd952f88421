use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hq_backend::{CommandError, CommandLine, CommandOutput, CommandRunner};

/// What goes wrong with a command.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It does nothing and answers with this.
    Answer(CommandOutput),
    /// It does its work, and its answer becomes another one.
    Garble(fn(CommandOutput) -> CommandOutput),
    /// It does nothing, and hangs until its time is over.
    Hang,
    /// It does its work, and hangs until its time is over without a word.
    HangAfter,
    /// It is not there.
    Missing,
}

/// Commands of which some go wrong. It remembers all that were run.
#[derive(Debug)]
pub struct Faulty<R> {
    inner: R,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    faults: Vec<(String, u32, Fault)>,
    lines: Vec<CommandLine>,
}

impl<R: CommandRunner> Faulty<R> {
    /// Nothing goes wrong yet.
    pub fn new(inner: R) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// The next `times` commands that begin with these words go wrong.
    pub fn fail(&self, words: &str, times: u32, fault: Fault) {
        self.with(|state| state.faults.push((words.to_owned(), times, fault)));
    }

    /// All commands so far, their words joined by blanks.
    pub fn log(&self) -> Vec<String> {
        self.with(|state| state.lines.iter().map(words).collect())
    }

    /// All commands so far.
    pub fn lines(&self) -> Vec<CommandLine> {
        self.with(|state| state.lines.clone())
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn next_fault(&self, line: &CommandLine) -> Option<Fault> {
        self.with(|state| {
            state.lines.push(line.clone());
            let begins =
                |start: &str| words(line).strip_prefix(start).is_some_and(|r| r.is_empty() || r.starts_with(' '));
            let (_, times, fault) = state.faults.iter_mut().find(|(start, times, _)| *times > 0 && begins(start))?;
            *times -= 1;
            Some(fault.clone())
        })
    }
}

#[async_trait]
impl<R: CommandRunner> CommandRunner for Faulty<R> {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        let hang = || CommandError::TimedOut { limit: line.time_limit, output: CommandOutput::default() };
        match self.next_fault(line) {
            None => self.inner.run(line).await,
            Some(Fault::Answer(output)) => Ok(output),
            Some(Fault::Garble(garble)) => self.inner.run(line).await.map(garble),
            Some(Fault::Hang) => Err(hang()),
            Some(Fault::HangAfter) => {
                let _ = self.inner.run(line).await;
                Err(hang())
            }
            Some(Fault::Missing) => Err(CommandError::Start(Arc::new(io::ErrorKind::NotFound.into()))),
        }
    }
}

fn words(line: &CommandLine) -> String {
    let words: Vec<&str> = std::iter::once(&line.program).chain(&line.args).map(String::as_str).collect();
    words.join(" ")
}
