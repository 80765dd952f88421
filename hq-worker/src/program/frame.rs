use std::collections::BTreeMap;

use hq_core::{Pin, WorkerResources};
use hq_node::StartOrder;

use super::{
    environment::{Variables, cpus, shared_variables},
    plan::Plan,
};
use crate::process::StringTable;

/// What all runs of one submit in one lane have in common, ready for `execve`.
#[derive(Debug)]
pub(super) struct Frame {
    /// The environment, less the variables of the single task.
    pub(super) env: StringTable,
    /// Where programs are looked for.
    pub(super) path: Option<Vec<u8>>,
    /// What the command is wrapped in.
    pub(super) wrapper: Option<Wrapper>,
}

/// A program that runs the program.
#[derive(Debug)]
pub(super) struct Wrapper {
    /// Its name.
    pub(super) program: &'static [u8],
    /// Its name and arguments.
    pub(super) args: StringTable,
}

impl Frame {
    /// Works out the environment.
    ///
    /// # Errors
    /// For pinning without cpus, and for variables that no program can be given; the text is for people.
    pub(super) fn new(
        base: &Variables,
        plan: &Plan,
        order: &StartOrder,
        resources: &WorkerResources,
    ) -> Result<Self, String> {
        let cpus = cpus(order, resources);
        if plan.spec.pin != Pin::None && cpus.is_empty() {
            return Err("Pinning failed, no CPU ids allocated for task".to_owned());
        }
        let variables = shared_variables(base, &plan.spec, order, resources);
        let wrapper = (plan.spec.pin == Pin::Taskset).then(|| taskset(&cpus)).transpose()?;
        Ok(Self { env: table(&variables)?, path: variables.get(&b"PATH"[..]).cloned(), wrapper })
    }
}

fn taskset(cpus: &str) -> Result<Wrapper, String> {
    let mut args = StringTable::default();
    for arg in ["taskset", "-c", cpus] {
        args.push(&[arg.as_bytes()]).map_err(|_| "a label of a cpu holds a zero byte".to_owned())?;
    }
    Ok(Wrapper { program: b"taskset", args })
}

fn table(variables: &BTreeMap<Vec<u8>, Vec<u8>>) -> Result<StringTable, String> {
    let mut table = StringTable::default();
    for (name, value) in variables {
        let bad = |what| format!("the environment variable `{}` {what}", String::from_utf8_lossy(name));
        if name.is_empty() || name.contains(&b'=') {
            return Err(bad("has a name that no program can be given"));
        }
        table.push(&[name, b"=", value]).map_err(|_| bad("holds a zero byte"))?;
    }
    Ok(table)
}
