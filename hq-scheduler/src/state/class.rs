use std::{collections::BTreeMap, sync::Arc};

use hq_core::{ClassId, CrashLimit, Profile, Request, SnapshotClass, Variants};

/// Tasks that are alike for placement: the same variants, the same kind of body, the same rule of backlogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) requests: Vec<Arc<Request>>,
    pub(crate) kind: String,
    /// An unreported start could not be told from a waiting task, so tasks that may never run twice are granted one by one.
    pub(crate) no_backlog: bool,
}

impl Class {
    /// Workers of a gang; 0 for tasks of one worker.
    pub(crate) fn nodes(&self) -> u32 {
        self.requests.first().map_or(0, |request| request.nodes())
    }

    pub(crate) fn is_gang(&self) -> bool {
        self.nodes() > 0
    }
}

/// Interned classes, numbered in order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes {
    list: Vec<Class>,
    ids: BTreeMap<(Variants, String, bool), ClassId>,
}

impl Classes {
    pub(crate) fn intern(&mut self, profile: &Profile, kind: &str) -> ClassId {
        let no_backlog = profile.crash_limit == CrashLimit::NeverRestart;
        self.add(profile.variants.clone(), kind.to_owned(), no_backlog)
    }

    fn add(&mut self, variants: Variants, kind: String, no_backlog: bool) -> ClassId {
        let key = (variants, kind, no_backlog);
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = ClassId(self.list.len() as u32);
        let requests = key.0.iter().cloned().map(Arc::new).collect();
        self.list.push(Class { requests, kind: key.1.clone(), no_backlog });
        self.ids.insert(key, id);
        id
    }

    /// # Panics
    /// For an id of another core; ids come from [`intern`](Self::intern) alone.
    pub(crate) fn get(&self, id: ClassId) -> &Class {
        &self.list[id.0 as usize]
    }

    /// All of them, in the order of their numbers.
    pub(super) fn snapshot(&self) -> Vec<SnapshotClass> {
        let mut classes: Vec<_> = self.ids.iter().collect();
        classes.sort_by_key(|(_, id)| **id);
        let class = |((variants, kind, no_backlog), _): (&(Variants, String, bool), &ClassId)| SnapshotClass {
            variants: variants.clone(),
            kind: kind.clone(),
            no_backlog: *no_backlog,
        };
        classes.into_iter().map(class).collect()
    }

    /// Gives a class the next number, unless it has one.
    pub(super) fn restore(&mut self, class: &SnapshotClass) {
        self.add(class.variants.clone(), class.kind.clone(), class.no_backlog);
    }

    pub(crate) fn has(&self, id: ClassId) -> bool {
        (id.0 as usize) < self.list.len()
    }
}
