use std::path::Path;

use hq_core::{ResourceDef, ResourceKind, ResourceName};
use hq_hardware::{CpuSearch, GpuKind, find_cpus, find_gpus, find_memory};

use super::DetectList;

/// How resources are looked for.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// Which.
    pub(crate) list: DetectList,
    /// Of each core only one hardware thread.
    pub(crate) one_thread_per_core: bool,
    /// In a job of Slurm its memory counts.
    pub(crate) in_slurm: bool,
}

/// The resources of this machine that are looked for, but for those that `is_given`.
pub(crate) fn find(search: &Search, is_given: impl Fn(&str) -> bool) -> Vec<ResourceDef> {
    let root = Path::new("/");
    let wants = |name: &str| search.list.wants(name) && !is_given(name);
    let mut found = Vec::new();
    let mut add = |name: &str, kind: ResourceKind| match ResourceName::new(name) {
        Ok(name) => found.push(ResourceDef { name, kind }),
        Err(error) => tracing::warn!("{name}: {error}"),
    };
    if wants(ResourceName::CPUS) {
        let cpus = CpuSearch { root: root.to_owned(), one_thread_per_core: search.one_thread_per_core };
        add(ResourceName::CPUS, find_cpus(&cpus));
    }
    if wants("mem") {
        let of_job = std::env::var("SLURM_MEM_PER_NODE").ok().filter(|_| search.in_slurm);
        match find_memory(root, of_job.as_deref()) {
            Some(memory) => add("mem", memory),
            None => tracing::warn!("The memory of this machine cannot be found out"),
        }
    }
    if GpuKind::ALL.iter().any(|kind| wants(kind.resource())) {
        for (kind, gpus) in find_gpus(root, |name| std::env::var(name).ok()) {
            if wants(kind.resource()) {
                add(kind.resource(), gpus);
            }
        }
    }
    found
}
