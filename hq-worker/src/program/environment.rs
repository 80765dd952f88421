use std::{collections::BTreeMap, os::unix::ffi::OsStringExt};

use hq_core::{Pin, ProgramSpec, ResourceName, WorkerResources};
use hq_node::StartOrder;

use crate::{labels, process::RUN_KEY};

/// Variables of a worker that its tasks do not get.
///
/// What was loaded into the daemon (`LD_PRELOAD`, `BASH_ENV`) is not meant for its tasks; `HQ_ACCESS_KEY` is a secret.
/// Besides these, whatever says something about *one* task (`HQ_JOB_ID`, `HQ_RESOURCE_…`, …) is not handed on by a
/// worker that is itself a task.
pub const NOT_INHERITED: [&str; 3] = ["LD_PRELOAD", "BASH_ENV", "HQ_ACCESS_KEY"];

/// What every run sets for itself, so that nothing else is worth keeping.
const PER_TASK: [&str; 14] = [
    RUN_KEY,
    "HQ_ACCESS_KEY",
    "HQ_JOB_ID",
    "HQ_TASK_ID",
    "HQ_INSTANCE_ID",
    "HQ_SUBMIT_DIR",
    "HQ_ENTRY",
    "HQ_CPUS",
    "HQ_PIN",
    "HQ_TASK_DIR",
    "HQ_ERROR_FILENAME",
    "HQ_NODE_FILE",
    "HQ_HOST_FILE",
    "HQ_NUM_NODES",
];

/// Variables by name.
pub(super) type Variables = BTreeMap<Vec<u8>, Vec<u8>>;

/// The environment of this process, less what tasks do not get.
///
/// The one place of this crate that reads it.
pub fn inherited_environment() -> Vec<(Vec<u8>, Vec<u8>)> {
    let variables = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    variables.filter(|(name, _)| !is_private(name)).collect()
}

fn is_private(name: &[u8]) -> bool {
    // The key of the run that the worker is part of becomes part of those of its tasks.
    let is_key = name == RUN_KEY.as_bytes();
    let mut private = NOT_INHERITED.iter().chain(&PER_TASK);
    let is_per_task = name.starts_with(b"HQ_RESOURCE_") || is_of_entry(name);
    !is_key && private.any(|private| private.as_bytes() == name) || is_per_task
}

/// Whether it is a variable that tells a task what it is about among many.
pub(super) fn is_of_entry(name: &[u8]) -> bool {
    name == b"HQ_ENTRY" || name.starts_with(b"HQ_SWEEP_")
}

/// What all tasks of a submit in one lane have: the worker's variables, the user's, then ours.
///
/// Variables of the single task ([`PER_TASK`]) are left out, whoever set them.
pub(super) fn shared_variables(
    base: &Variables,
    spec: &ProgramSpec,
    order: &StartOrder,
    resources: &WorkerResources,
) -> Variables {
    let mut variables = base.clone();
    for (name, value) in &spec.env {
        variables.insert(name.to_vec(), value.to_vec());
    }
    variables.retain(|name, _| !PER_TASK.iter().any(|own| own.as_bytes() == name));
    let users = |name: &str| spec.env.iter().any(|(given, _)| **given == *name.as_bytes());
    let mut set = |name: &str, value: &[u8]| {
        variables.insert(name.as_bytes().to_vec(), value.to_vec());
    };
    set("HQ_JOB_ID", order.job.to_string().as_bytes());
    set("HQ_SUBMIT_DIR", &spec.submit_dir);
    for entry in order.lane.request.entries() {
        set(&variable("HQ_RESOURCE_REQUEST_", &entry.resource), entry.quantity.to_string().as_bytes());
    }
    if order.lane.variants > 1 {
        set("HQ_RESOURCE_VARIANT", order.lane.variant.to_string().as_bytes());
    }
    for granted in &order.lane.allocation.0 {
        let values = labels::of(granted, resources).join(",");
        match granted.resource.as_str() {
            ResourceName::CPUS => {
                set("HQ_CPUS", values.as_bytes());
                if granted.amount.fraction() == 0 && !users("OMP_NUM_THREADS") {
                    set("OMP_NUM_THREADS", granted.amount.whole().to_string().as_bytes());
                }
            }
            "gpus/nvidia" => {
                set("CUDA_VISIBLE_DEVICES", values.as_bytes());
                set("CUDA_DEVICE_ORDER", b"PCI_BUS_ID");
            }
            "gpus/amd" => set("ROCR_VISIBLE_DEVICES", values.as_bytes()),
            _ => {}
        }
        if !granted.pieces.is_empty() {
            set(&variable("HQ_RESOURCE_VALUES_", &granted.resource), values.as_bytes());
        }
    }
    match spec.pin {
        Pin::None => {}
        Pin::Taskset => set("HQ_PIN", b"taskset"),
        Pin::OpenMp => {
            set("HQ_PIN", b"omp");
            if !users("OMP_PLACES") {
                set("OMP_PLACES", format!("{{{}}}", cpus(order, resources)).as_bytes());
            }
            if !users("OMP_PROC_BIND") {
                set("OMP_PROC_BIND", b"close");
            }
        }
    }
    variables
}

/// Labels of the granted cpus, separated by commas; empty where none are granted.
pub(super) fn cpus(order: &StartOrder, resources: &WorkerResources) -> String {
    let granted = order.lane.allocation.0.iter().find(|granted| granted.resource.as_str() == ResourceName::CPUS);
    granted.map_or_else(String::new, |granted| labels::of(granted, resources).join(","))
}

fn variable(prefix: &str, resource: &ResourceName) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    prefix.chars().chain(resource.as_str().chars().map(clean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private() {
        for (name, private) in [
            ("PATH", false),
            ("LD_LIBRARY_PATH", false),
            ("HQ_SERVER_DIR", false),
            ("LD_PRELOAD", true),
            ("BASH_ENV", true),
            ("HQ_ACCESS_KEY", true),
            ("HQ_ENTRY", true),
            ("HQ_SWEEP_x", true),
            ("HQ_RUN_KEY", false),
            ("HQ_RESOURCE_VALUES_gpus", true),
        ] {
            assert_eq!(is_private(name.as_bytes()), private, "{name}");
        }
    }
}
