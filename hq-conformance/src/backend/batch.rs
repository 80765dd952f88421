use std::{fs, os::unix::fs::MetadataExt as _};

use hq_backend::{AllocationRequest, AllocatorBackend as _, BackendErrorKind, ExtraArg, JobName, ShellLine};

use super::fixture::{BackendFixture, end, submit};

/// A manager of scripts has to be told where they lie.
///
/// # Panics
/// Where it takes less.
pub async fn a_request_without_files_is_refused(fixture: &mut impl BackendFixture) {
    let request = AllocationRequest { batch: None, ..fixture.request("bare") };
    let error = fixture.backend().submit(&request).await.expect_err("no directory");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Unsupported, false));
    let request = AllocationRequest { command: vec![], ..fixture.request("bare") };
    let error = fixture.backend().submit(&request).await.expect_err("no command");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Unsupported, false));
}

/// The directory is its owner's alone, and holds the script and the id.
///
/// # Panics
/// Where that does not hold.
pub async fn the_files_of_an_allocation_are_private(fixture: &mut impl BackendFixture) {
    let allocation = submit(fixture, "files").await;
    let directory = allocation.directory.clone().expect("a directory");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("metadata").mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for file in ["hq-submit.sh", "jobid"] {
        assert_eq!(mode(&directory.join(file)) & 0o077, 0, "{file}");
    }
    let id = fs::read_to_string(directory.join("jobid")).expect("jobid");
    assert_eq!(id, allocation.id.0);
    end(fixture, &[allocation]).await;
}

/// One allocation, one directory: the second one is refused before anything is done.
///
/// # Panics
/// Where it is not.
pub async fn a_used_directory_is_refused(fixture: &mut impl BackendFixture) {
    let allocation = submit(fixture, "used").await;
    let error = fixture.backend().submit(&fixture.request("used")).await.expect_err("it was used");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Files, false), "{error}");
    end(fixture, &[allocation]).await;
}

/// What could begin a line of its own, or be taken for an option, cannot even be said (Q5 of the faults).
///
/// # Panics
/// Where it can.
pub async fn names_keep_out_what_is_no_name(_: &mut impl BackendFixture) {
    let long = "x".repeat(10_240);
    for name in
        ["", "a\n#SBATCH --uid=0", "$(reboot)", "../..", "a/b", "a b", "'", "\"", "`x`", "-x", "ä", "a\0", &long]
    {
        JobName::new(name).expect_err(name);
    }
    for text in ["a\n#PBS -W x", "a\rb", "a\0b", "\u{1b}[2J", ""] {
        ExtraArg::new(text).expect_err(text);
        ShellLine::new(text).expect_err(text);
    }
    assert!(JobName::new("hq-1-1").is_ok() && ExtraArg::new("--partition=a b").is_ok());
}
