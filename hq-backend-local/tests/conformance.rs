//! The local backend, with processes and with workers of this process.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use hq_backend::{
    Allocation, AllocationEnd, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, EndCause, Word,
};
use hq_backend_local::{LocalBackend, Spawn, SpawnError, WorkerStart, WorkerStop};
use hq_conformance::backend::{BackendFixture, test_all};

struct Fixture {
    backend: LocalBackend,
    command: Vec<String>,
}

impl BackendFixture for Fixture {
    type Backend = LocalBackend;

    fn backend(&self) -> &LocalBackend {
        &self.backend
    }

    fn request(&self, key: &str) -> AllocationRequest {
        AllocationRequest {
            key: key.to_owned(),
            workers: 1,
            time_limit: None,
            command: self.command.iter().map(Word::from).collect(),
            worker: None,
            batch: None,
        }
    }
}

#[derive(Debug)]
struct Flags;

struct Flag(Arc<AtomicBool>);

impl Spawn for Flags {
    fn spawn(&self, worker: WorkerStart) -> Result<Box<dyn WorkerStop>, SpawnError> {
        if worker.number == 2 {
            return Err(SpawnError { message: "two are enough".to_owned(), is_temporary: true });
        }
        Ok(Box::new(Flag(Arc::default())))
    }
}

impl WorkerStop for Flag {
    fn ended(&mut self) -> Option<Option<String>> {
        self.0.load(Ordering::Relaxed).then_some(None)
    }

    fn stop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn command(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

#[tokio::test]
async fn workers_as_processes() {
    let report =
        test_all(&mut Fixture { backend: LocalBackend::processes(), command: command(&["sleep", "1000"]) }).await;
    assert_eq!((report.kept.len(), report.skipped.len()), (9, 7), "{report}");
}

#[tokio::test]
async fn workers_of_this_process() {
    test_all(&mut Fixture { backend: LocalBackend::new(Flags), command: vec![] }).await;
}

#[tokio::test]
async fn an_exit_code_is_the_error_of_the_allocation() {
    for (program, cause, expected) in [
        ("true", EndCause::Finished, None),
        ("false", EndCause::Failed, Some("its worker ended with exit status: 1".to_owned())),
    ] {
        let fixture = Fixture { backend: LocalBackend::processes(), command: command(&[program]) };
        let id = fixture.backend.submit(&fixture.request("x")).await.expect("submit");
        let allocation = Allocation { id, key: "x".to_owned(), directory: None };
        let mut status = AllocationStatus::Running { started: None };
        while !status.is_ended() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            status = fixture.backend.status(std::slice::from_ref(&allocation)).await.remove(0).expect("status");
        }
        let end = AllocationEnd { cause, error: expected, started: None, ended: None, may_return: false };
        assert_eq!(status, AllocationStatus::Ended(end), "{program}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_had_whole_is_not_had_at_all() {
    let fixture = Fixture { backend: LocalBackend::new(Flags), command: vec![] };
    let request = AllocationRequest { workers: 3, ..fixture.request("three") };
    let error = fixture.backend.submit(&request).await.expect_err("three");
    assert_eq!(error.to_string(), "allocator `local` could not submit: two are enough");
    assert!(error.is_temporary());
    assert_eq!(fixture.backend.find(&request).await.expect("find"), None);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_rejection() {
    let fixture = Fixture { backend: LocalBackend::processes(), command: command(&["/no/such/program"]) };
    let error = fixture.backend.submit(&fixture.request("x")).await.expect_err("no such program");
    assert!(!error.is_temporary(), "{error}");
    let unknown = Allocation { id: AllocationId("1".to_owned()), key: "x".to_owned(), directory: None };
    let gone = fixture.backend.status(&[unknown]).await.remove(0).expect("status");
    assert_eq!(gone, AllocationStatus::ended(EndCause::Unknown));
}
