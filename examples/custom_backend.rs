//! A backend in an afternoon: machines that can be reached by `ssh`, given out one by one.
//!
//! `docs/backends.md` goes through it. The tests at the end hold it against the suite that every backend has to pass.

use std::{
    collections::BTreeMap,
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationEnd, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError,
    BackendErrorKind, Capability, EndCause,
};
use tokio::process::{Child, Command};

/// A few machines, and the words that run a line of a shell on one of them.
#[derive(Debug)]
struct Hosts {
    /// E.g. `ssh -o BatchMode=yes HOST`: the program, and its arguments with `HOST` for the machine.
    shell: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<String>,
    count: u64,
    given: BTreeMap<String, Given>,
}

/// One allocation.
#[derive(Debug)]
struct Given {
    key: String,
    /// Machines with the connection that holds the worker there.
    workers: Vec<(String, Child)>,
    is_canceled: bool,
    error: Option<String>,
}

impl Hosts {
    fn new(shell: &[&str], hosts: &[&str]) -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { shell: words(shell), state: Mutex::new(State { free: words(hosts), ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, host: &str, line: &str) -> std::io::Result<Child> {
        let mut words = self.shell.iter().map(|word| if word == "HOST" { host } else { word });
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg(line).stdin(Stdio::null()).kill_on_drop(true);
        command.spawn()
    }
}

#[async_trait]
impl AllocatorBackend for Hosts {
    fn name(&self) -> &str {
        "hosts"
    }

    fn capability(&self) -> Capability {
        // What is not promised is not asked for: another process knows nothing of our connections.
        Capability { workers_max: 64, time_limit: false, find: false, validate: false, batch: false }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let error = |kind, message: String| BackendError::new(kind, "hosts", "submit", message);
        let wanted = request.workers as usize;
        if request.workers == 0 || request.workers > self.capability().workers_max {
            return Err(error(
                BackendErrorKind::Unsupported,
                format!("{wanted} workers were asked for, 1 to 64 are possible"),
            ));
        }
        let mut state = self.state();
        if state.free.len() < wanted {
            // Temporary: the engine comes back later.
            let message = format!("{wanted} machines were asked for, {} are free", state.free.len());
            return Err(error(BackendErrorKind::Limited, message));
        }
        // Words know how a shell has to have them.
        let line = request.command.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let at = state.free.len() - wanted;
        let hosts = state.free.split_off(at);
        let mut workers = vec![];
        for host in &hosts {
            match self.start(host, &line) {
                Ok(child) => workers.push((host.clone(), child)),
                Err(e) => {
                    // All or none: what was started ends as it is dropped.
                    state.free.extend(hosts.iter().cloned());
                    return Err(error(BackendErrorKind::Missing, format!("cannot reach {host}: {e}")));
                }
            }
        }
        state.count += 1;
        let id = format!("{}-{}", std::process::id(), state.count);
        let given = Given { key: request.key.clone(), workers, is_canceled: false, error: None };
        state.given.insert(id.clone(), given);
        Ok(AllocationId(id))
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let mut state = self.state();
        allocations.iter().map(|allocation| Ok(state.status(&allocation.id.0))).collect()
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        if let Some(given) = self.state().given.get_mut(&allocation.id.0) {
            given.is_canceled = true;
            // One that has ended is no error.
            given.workers.iter_mut().for_each(|(_, child)| drop(child.start_kill()));
        }
        Ok(())
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        let state = self.state();
        Ok(state.given.iter().find(|(_, given)| given.key == request.key).map(|(id, _)| AllocationId(id.clone())))
    }
}

impl State {
    fn status(&mut self, id: &str) -> AllocationStatus {
        let Some(given) = self.given.get_mut(id) else { return AllocationStatus::ended(EndCause::Unknown) };
        let free = &mut self.free;
        let error = &mut given.error;
        given.workers.retain_mut(|(host, child)| match child.try_wait() {
            Ok(None) => true,
            ended => {
                free.push(host.clone());
                let problem = match ended {
                    Ok(Some(status)) if !status.success() => Some(format!("the worker on {host} ended with {status}")),
                    Err(e) => Some(format!("the worker on {host} cannot be watched: {e}")),
                    Ok(_) => None,
                };
                *error = error.take().or(problem);
                false
            }
        });
        if !given.workers.is_empty() {
            return AllocationStatus::Running { started: None };
        }
        let (cause, error) = match (given.is_canceled, &given.error) {
            (true, _) => (EndCause::Canceled, None),
            (false, None) => (EndCause::Finished, None),
            (false, Some(error)) => (EndCause::Failed, Some(error.clone())),
        };
        AllocationStatus::Ended(AllocationEnd { cause, error, started: None, ended: None, may_return: false })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Shown with a shell of this machine instead of `ssh -o BatchMode=yes HOST`.
    let hosts = Hosts::new(&["sh", "-c"], &["alpha", "beta", "gamma"]);
    let request = AllocationRequest {
        key: "example-1".to_owned(),
        workers: 2,
        time_limit: None,
        command: ["echo", "a worker starts"].map(Into::into).to_vec(),
        worker: None,
        batch: None,
    };
    let id = hosts.submit(&request).await?;
    let allocation = [Allocation { id, key: request.key, directory: None }];
    loop {
        let status = hosts.status(&allocation).await.remove(0)?;
        println!("{}: {status:?}", allocation[0].id);
        if status.is_ended() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use hq_backend::Word;
    use hq_conformance::backend::{BackendFixture, test_all};

    use super::*;

    struct Fixture(Hosts);

    impl BackendFixture for Fixture {
        type Backend = Hosts;

        fn backend(&self) -> &Hosts {
            &self.0
        }

        fn request(&self, key: &str) -> AllocationRequest {
            // `exec`, so that the shell is the worker, as a connection would be.
            let command = vec![Word::from("exec"), Word::from("sleep"), Word::from("1000")];
            AllocationRequest { key: key.to_owned(), workers: 1, time_limit: None, command, worker: None, batch: None }
        }
    }

    #[tokio::test]
    async fn every_promise_is_kept() {
        let hosts = Hosts::new(&["sh", "-c"], &["a", "b", "c", "d", "e", "f"]);
        let report = test_all(&mut Fixture(hosts)).await;
        println!("{report}");
        assert_eq!(report.kept.len(), 9, "{report}");
    }

    #[tokio::test]
    async fn machines_are_given_once() {
        let fixture = Fixture(Hosts::new(&["sh", "-c"], &["a"]));
        let first = fixture.0.submit(&fixture.request("1")).await.expect("a machine");
        let error = fixture.0.submit(&fixture.request("2")).await.expect_err("none is left");
        assert!(error.is_temporary() && !error.is_in_doubt, "{error}");
        let allocation = [Allocation { id: first, key: "1".to_owned(), directory: None }];
        fixture.0.cancel(&allocation[0]).await.expect("cancel");
        while !fixture.0.status(&allocation).await.remove(0).expect("status").is_ended() {
            tokio::task::yield_now().await;
        }
        fixture.0.submit(&fixture.request("3")).await.expect("it is free again");
    }
}
