use std::collections::BTreeSet;

use hq_core::{
    Amount, DefinitionError, Request, ResourceDef, ResourceKind, ResourceName, Span, WorkerConfig, WorkerResources,
};

use crate::{pool::Pools, utilization::least_use};

/// Workers that could be had.
#[derive(Clone, Debug)]
pub struct WorkerType {
    pub(super) idle: Pools,
    /// Resources that are known, where there may be others; none where what is offered is all there is.
    known: Option<BTreeSet<ResourceName>>,
    /// Kinds of bodies that they run, besides programs.
    pub kinds: Vec<String>,
    /// How long they live.
    pub time_limit: Option<Span>,
    /// So many can be had at most.
    pub workers_max: u32,
    /// So many of them at most are of one group: a larger gang cannot be formed.
    pub gang_max: u32,
    /// Least used share of their cpus, in 1/10,000, for tasks to be placed on them.
    pub min_utilization: u32,
}

/// Workers that the waiting tasks could use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Per type how many would get tasks of one worker.
    pub workers: Vec<u32>,
    /// What gangs could use, by type and size.
    pub gangs: Vec<GangDemand>,
}

/// Gangs of one size that a type could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GangDemand {
    /// Which type, counted from 0.
    pub worker_type: u32,
    /// Workers of each gang.
    pub nodes: u32,
    /// How many such gangs wait.
    pub gangs: u64,
}

impl WorkerType {
    /// Workers with these resources and no others, any number of them, without an end, that run programs.
    pub fn exact(resources: &WorkerResources) -> Self {
        Self::new(resources, None)
    }

    /// Workers of which some resources are known. They have as much as anybody could want of any other resource that a
    /// worker was ever seen with; what is known with a total of nothing they do not have.
    ///
    /// # Errors
    /// For definitions that no worker could have.
    pub fn partial(known: Vec<ResourceDef>) -> Result<Self, DefinitionError> {
        let names = known.iter().map(|def| def.name.clone()).collect();
        let mut there: Vec<ResourceDef> = known.into_iter().filter(|def| !def.kind.total().is_zero()).collect();
        if !there.iter().any(|def| def.name.as_str() == ResourceName::CPUS) {
            // Nobody is given this one: requests for what is not known are left out.
            there.push(ResourceDef { name: ResourceName::cpus(), kind: ResourceKind::Range { start: 0, end: 0 } });
        }
        Ok(Self::new(&WorkerResources::new(there, vec![])?, Some(names)))
    }

    /// Workers just like this one.
    pub fn like(worker: &WorkerConfig) -> Self {
        Self {
            kinds: worker.kinds.clone(),
            time_limit: worker.time_limit,
            min_utilization: worker.min_utilization,
            ..Self::exact(&worker.resources)
        }
    }

    fn new(resources: &WorkerResources, known: Option<BTreeSet<ResourceName>>) -> Self {
        Self {
            idle: Pools::new(resources),
            known,
            kinds: vec![],
            time_limit: None,
            workers_max: u32::MAX,
            gang_max: u32::MAX,
            min_utilization: 0,
        }
    }

    pub(super) fn runs(&self, kind: &str) -> bool {
        kind == hq_core::PROGRAM_KIND || self.kinds.iter().any(|known| known == kind)
    }

    pub(super) fn lives_for(&self, request: &Request) -> bool {
        self.time_limit.is_none_or(|limit| limit > Span::ZERO && limit >= request.min_time())
    }

    /// What a request takes of such a worker; none where it could never run there. `seen` tells what workers were ever
    /// seen with.
    pub(super) fn adapt(&self, request: &Request, seen: impl Fn(&str) -> bool) -> Option<Request> {
        if !self.lives_for(request) {
            return None;
        }
        let mut entries = request.entries().to_vec();
        if let Some(known) = &self.known {
            if entries.iter().any(|entry| !known.contains(&entry.resource) && !seen(entry.resource.as_str())) {
                return None;
            }
            entries.retain(|entry| known.contains(&entry.resource));
        }
        let adapted =
            Request::new(entries).ok()?.with_min_time(request.min_time()).with_weight(request.weight()).ok()?;
        self.idle.could_ever(&adapted).then_some(adapted)
    }

    /// The least use of cpus; nothing where it is not asked for or cannot be judged.
    pub(super) fn least_use(&self) -> Amount {
        let cpus = ResourceName::cpus();
        if self.known.as_ref().is_some_and(|known| !known.contains(&cpus)) {
            return Amount::ZERO;
        }
        least_use(&self.idle, self.min_utilization)
    }
}
