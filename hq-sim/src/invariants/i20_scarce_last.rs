use hq_core::{Request, ResourceDef, Variants, WorkerResources};

use super::case::{Case, CaseTasks, Decider, Manner};

/// I20: tasks that need none of a resource take, of two workers that are alike otherwise, the one without it, as long as they fit
/// there; whichever of the two came first, and however many of them there are. A preference: of one decision, on idle workers.
///
/// # Errors
/// Where one takes the scarce one.
pub fn scarce_last(by: &Decider) -> Result<(), String> {
    of_one_resource_scarce_last(by)?;
    check_all(by, &[(&["cpus=2", "mem=2"], 2)])
}

/// The same of tasks that need one resource alone, so that they leave nothing behind that they could not use. Who minds first
/// what is left of use to the tasks there are may well spare memory rather than GPUs that nobody wants.
///
/// # Errors
/// Where one takes the scarce one.
pub fn of_one_resource_scarce_last(by: &Decider) -> Result<(), String> {
    check_all(by, &[(&["cpus=1"], 4), (&["cpus=0.5"], 8), (&["mem=1.5"], 3)])
}

/// Requests, each with how many of them a worker holds.
fn check_all(by: &Decider, requests: &[(&[&str], u32)]) -> Result<(), String> {
    let def = |text: &str| ResourceDef::parse(text).map_err(|error| error.to_string());
    for cpus in ["cpus=[0,1,2,3]", "cpus=[[0,1],[2,3]]"] {
        for (gpus, mem) in [("gpus=[a,b]", "mem=sum(8)"), ("gpus=[[a],[b]]", "mem=sum(4.5)")] {
            let plain = vec![def(cpus)?, def(mem)?];
            let with = [plain.clone(), vec![def(gpus)?]].concat();
            for (variants, most) in requests {
                let request = Request::parse(variants.iter().copied()).map_err(|error| error.to_string())?;
                for count in 1..=*most {
                    check(by, &plain, &with, &request.clone().into(), count)?;
                }
            }
        }
    }
    Ok(())
}

fn check(
    by: &Decider,
    plain: &[ResourceDef],
    with: &[ResourceDef],
    variants: &Variants,
    count: u32,
) -> Result<(), String> {
    let worker = |defs: &[ResourceDef]| WorkerResources::new(defs.to_vec(), vec![]).map_err(|error| error.to_string());
    for (workers, right) in [([with, plain], 1), ([plain, with], 0)] {
        let workers = workers.into_iter().map(worker).collect::<Result<Vec<WorkerResources>, String>>()?;
        let case = Case { workers, tasks: vec![CaseTasks { variants: variants.clone(), priority: 0, count }] };
        let (_, placed) = case.decide(by, Manner::default())?;
        if placed.len() != count as usize || placed.iter().any(|one| one.worker != right) {
            return Err(format!("I20 scarce last: {} takes the worker with the gpus: {placed:?}", by.placement));
        }
    }
    Ok(())
}
