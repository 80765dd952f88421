use std::collections::BTreeMap;

use hq_core::{Epoch, GrantId};

use super::Grant;

/// So many numbers are in a page.
const PAGE: u64 = 16;

/// Open grants by name.
///
/// New ones are numbered on, so that those opened together lie together: in pages of consecutive numbers, which exist as long as one
/// of them is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    pages: BTreeMap<u64, Box<Page>>,
    len: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Page {
    grants: [Option<Grant>; PAGE as usize],
    /// How many there are.
    used: usize,
}

impl Grants {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, grant: &GrantId) -> Option<&Grant> {
        let (page, at) = place_of(*grant);
        self.pages.get(&page)?.grants[at].as_ref()
    }

    pub(crate) fn get_mut(&mut self, grant: &GrantId) -> Option<&mut Grant> {
        let (page, at) = place_of(*grant);
        self.pages.get_mut(&page)?.grants[at].as_mut()
    }

    pub(crate) fn contains_key(&self, grant: &GrantId) -> bool {
        self.get(grant).is_some()
    }

    /// Adds a grant, or replaces the one of that name.
    pub(crate) fn insert(&mut self, grant: GrantId, opened: Grant) {
        let (page, at) = place_of(grant);
        let page = self.pages.entry(page).or_default();
        if page.grants[at].replace(opened).is_none() {
            page.used += 1;
            self.len += 1;
        }
    }

    /// Adds grants of consecutive names from `first` on; each page is looked up once.
    pub(crate) fn insert_run(&mut self, first: GrantId, opened: impl Iterator<Item = Grant>) {
        let mut opened = opened.peekable();
        let mut number = number_of(first);
        while opened.peek().is_some() {
            let page = self.pages.entry(number / PAGE).or_default();
            for (place, grant) in page.grants[(number % PAGE) as usize..].iter_mut().zip(&mut opened) {
                if place.replace(grant).is_none() {
                    page.used += 1;
                    self.len += 1;
                }
            }
            number = (number / PAGE + 1) * PAGE;
        }
    }

    pub(crate) fn remove(&mut self, grant: &GrantId) -> Option<Grant> {
        let (number, at) = place_of(*grant);
        let page = self.pages.get_mut(&number)?;
        let closed = page.grants[at].take()?;
        page.used -= 1;
        self.len -= 1;
        if page.used == 0 {
            self.pages.remove(&number);
        }
        Some(closed)
    }

    /// The one of the highest name.
    pub(crate) fn last(&self) -> Option<GrantId> {
        self.iter().next_back().map(|(grant, _)| grant)
    }

    /// Those of `n` consecutive names from `first` on that are there.
    pub(crate) fn in_run(&self, first: GrantId, n: u64) -> impl Iterator<Item = (GrantId, &Grant)> {
        let start = number_of(first);
        let end = start.saturating_add(n);
        self.pages.range(start / PAGE..end.div_ceil(PAGE)).flat_map(move |(page, known)| {
            let base = page * PAGE;
            let (from, to) = (start.max(base) - base, end.min(base + PAGE) - base);
            let of_page = known.grants[from as usize..to as usize].iter().zip(base + from..);
            of_page.filter_map(|(grant, number)| Some((name_of(number), grant.as_ref()?)))
        })
    }

    /// In order of names.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (GrantId, &Grant)> {
        self.pages.iter().flat_map(|(page, known)| {
            let of_page = known.grants.iter().enumerate();
            of_page.filter_map(move |(at, grant)| Some((name_of(page * PAGE + at as u64), grant.as_ref()?)))
        })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Grant> {
        self.iter().map(|(_, grant)| grant)
    }
}

const fn place_of(grant: GrantId) -> (u64, usize) {
    let number = number_of(grant);
    (number / PAGE, (number % PAGE) as usize)
}

const fn number_of(grant: GrantId) -> u64 {
    (grant.epoch.0 as u64) << 32 | grant.n as u64
}

const fn name_of(number: u64) -> GrantId {
    GrantId { epoch: Epoch((number >> 32) as u32), n: number as u32 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hq_core::{ClassId, Ordinal, Tick, WorkerId};
    use proptest::prelude::*;

    use super::{super::queue::TaskQueue, *};

    fn grant(worker: u32) -> Grant {
        Grant {
            worker: WorkerId(worker),
            others: vec![],
            class: ClassId(0),
            variant: 0,
            allocation: Arc::default(),
            opened: Tick(0),
            tasks: TaskQueue::one(Ordinal(0)),
            running: None,
        }
    }

    proptest! {
        #[test]
        fn is_a_map(steps in prop::collection::vec((any::<bool>(), 0u32..70, 0u32..9), 0..150)) {
            let mut model: BTreeMap<GrantId, Grant> = BTreeMap::new();
            let mut grants = Grants::default();
            for (add, n, worker) in steps {
                let name = GrantId { epoch: Epoch(1 + n / 40), n: if n < 40 { u32::MAX - 39 + n } else { n - 40 } };
                if add {
                    model.insert(name, grant(worker));
                    grants.insert(name, grant(worker));
                } else {
                    prop_assert_eq!(grants.remove(&name), model.remove(&name));
                }
                prop_assert_eq!(grants.get(&name), model.get(&name));
                prop_assert_eq!(grants.get_mut(&name).is_some(), grants.contains_key(&name));
                prop_assert_eq!((grants.len(), grants.last()), (model.len(), model.keys().last().copied()));
                prop_assert!(grants.iter().eq(model.iter().map(|(name, grant)| (*name, grant))));
                if add {
                    let names = (0..u64::from(worker) * 3).map(|at| name_of(number_of(name) + at));
                    model.extend(names.clone().map(|name| (name, grant(worker))));
                    grants.insert_run(name, names.map(|_| grant(worker)));
                }
                let all = number_of(name)..number_of(name) + u64::from(worker) * 5;
                let run = model.iter().filter(|(name, _)| all.contains(&number_of(**name)));
                prop_assert!(grants.in_run(name, all.end - all.start).eq(run.map(|(name, grant)| (*name, grant))));
                prop_assert!(grants.pages.values().all(|page| page.used > 0), "no page is empty");
            }
        }
    }
}
