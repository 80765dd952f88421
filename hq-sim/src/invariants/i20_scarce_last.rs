use hq_core::{Request, ResourceDef, WorkerResources};

use super::case::{Case, CaseTasks, Decider, Manner};

/// I20: a task that needs none of a resource takes, of two workers that are alike otherwise, the one without it; whichever of
/// them came first. A preference: of one decision, on idle workers.
///
/// # Errors
/// Where it takes the scarce one.
pub fn scarce_last(by: &Decider) -> Result<(), String> {
    let cpus = ResourceDef::parse_cpus("4").map_err(|error| error.to_string())?;
    let gpus = ResourceDef::parse("gpus=[a,b]").map_err(|error| error.to_string())?;
    let worker = |defs| WorkerResources::new(defs, vec![]).map_err(|error| error.to_string());
    let (with, without) = (worker(vec![cpus.clone(), gpus])?, worker(vec![cpus])?);
    let one = Request::cpus(1).map_err(|error| error.to_string())?;
    for (workers, right) in [(vec![with.clone(), without.clone()], 1), (vec![without, with], 0)] {
        let case = Case { workers, tasks: vec![CaseTasks { variants: one.clone().into(), priority: 0, count: 1 }] };
        let (_, placed) = case.decide(by, Manner::default())?;
        if placed.len() != 1 || placed.iter().any(|one| one.worker != right) {
            return Err(format!("I20 scarce last: {} takes the worker with the gpus: {placed:?}", by.placement));
        }
    }
    Ok(())
}
