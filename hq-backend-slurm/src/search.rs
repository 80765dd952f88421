use hq_backend::{AllocationDir, AllocationId, BackendError, BatchRequest, CommandLine, CommandRunner};

use crate::{
    accounting::{Accounting, SEPARATOR},
    refusal::refusal,
    show::belongs,
};

/// The job of a request: by the id in its directory, in the queue by name and directory, then in the accounting.
pub(crate) async fn find(
    runner: &dyn CommandRunner,
    accounting: &Accounting,
    batch: &BatchRequest,
) -> Result<Option<AllocationId>, BackendError> {
    if let Some(id) = AllocationDir::open(&batch.directory).read_id() {
        return Ok(Some(id));
    }
    let args = [
        "--noheader".to_owned(),
        "--me".to_owned(),
        "--states=all".to_owned(),
        format!("--name={}", batch.name),
        format!("--format=%A{SEPARATOR}%Z{SEPARATOR}%o"),
    ];
    let answer = match runner.run(&CommandLine::new("squeue", args).in_plain_words()).await {
        Ok(output) if output.is_success() => output.out().into_owned(),
        outcome => return Err(refusal("find", "squeue", outcome)),
    };
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.trim().split(SEPARATOR).collect();
        let [id, dir, command] = fields[..] else { return None };
        let id: u64 = id.parse().ok()?;
        let is_told = !dir.is_empty() || !command.is_empty();
        (is_told && belongs(&batch.directory, Some(dir), Some(command))).then_some(id)
    };
    // A directory has one job; were there two, the later one is what counts.
    match answer.lines().filter_map(of_line).max() {
        Some(id) => Ok(Some(AllocationId(id.to_string()))),
        None => Ok(accounting.find(runner, batch).await),
    }
}
