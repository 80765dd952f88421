use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{ClassId, CrashLimit, Profile, Request, Variants};

/// Tasks that are alike for placement: the same variants, the same kind of body, the same rule of backlogs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// What makes a class.
type Key = (Variants, String, bool);

/// Interned classes, numbered in order of first use. One that no submit and no lane has any more is forgotten, and its number is given
/// to another: no fact can speak of it by then. So classes follow what there is, not what there ever was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes {
    list: Vec<Slot>,
    ids: BTreeMap<Arc<Key>, ClassId>,
    free: BTreeSet<ClassId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Slot {
    class: Class,
    /// None while the number is nobody's.
    key: Option<Arc<Key>>,
    /// Profiles of submits, and lanes.
    users: u64,
}

impl Classes {
    /// The class of one more profile.
    pub(crate) fn intern(&mut self, profile: &Profile, kind: &str) -> ClassId {
        let no_backlog = profile.crash_limit == CrashLimit::NeverRestart;
        let key = (profile.variants.clone(), kind.to_owned(), no_backlog);
        if let Some(id) = self.ids.get(&key).copied() {
            self.hold(id);
            return id;
        }
        let key = Arc::new(key);
        let requests = profile.variants.iter().cloned().map(Arc::new).collect();
        let class = Class { requests, kind: kind.to_owned(), no_backlog };
        let slot = Slot { class, key: Some(key.clone()), users: 1 };
        let id = match self.free.pop_first() {
            Some(id) => {
                self.list[id.0 as usize] = slot;
                id
            }
            None => {
                self.list.push(slot);
                ClassId(self.list.len() as u32 - 1)
            }
        };
        self.ids.insert(key, id);
        id
    }

    /// One lane more has this class; says whether there is such a class.
    pub(super) fn hold(&mut self, id: ClassId) -> bool {
        let slot = self.list.get_mut(id.0 as usize).filter(|slot| slot.users > 0);
        slot.map(|slot| slot.users += 1).is_some()
    }

    /// One profile or lane less has this class; says whether it was the last one, so that the class is forgotten.
    pub(super) fn release(&mut self, id: ClassId) -> bool {
        let Some(slot) = self.list.get_mut(id.0 as usize).filter(|slot| slot.users > 0) else { return false };
        slot.users -= 1;
        if slot.users > 0 {
            return false;
        }
        if let Some(key) = std::mem::take(slot).key {
            self.ids.remove(&key);
        }
        self.free.insert(id)
    }

    /// # Panics
    /// For an id of another core; ids come from [`intern`](Self::intern) alone. One that is forgotten asks for nothing.
    pub(crate) fn get(&self, id: ClassId) -> &Class {
        &self.list[id.0 as usize].class
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.ids.len()
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{
        JobId, JobSpec, JobTarget, LaneReport, Outcome, Record, ResourceEntry, RunEnd, Span, Submit, TaskIds, Tick,
        ToWorker, WorkerConfig, WorkerResources,
    };

    use super::*;
    use crate::{Action, News, Scheduler};

    const NOW: Tick = Tick(1);

    /// A core with one worker, and one that replays what it says.
    struct Rig {
        core: Scheduler,
        shadow: Scheduler,
    }

    impl Rig {
        fn new() -> Self {
            let (mut core, shadow) = (Scheduler::new(), Scheduler::new());
            core.boot(NOW, "uid".into(), 0, "1".into());
            core.join(NOW, WorkerConfig::new("w", WorkerResources::cpus(2).unwrap())).unwrap();
            Self { core, shadow }
        }

        fn submit(&mut self, entries: &[&str], min_time: u64) -> JobId {
            let entries = entries.iter().map(|text| ResourceEntry::parse(text).unwrap()).collect();
            let profile = Profile::new(Request::new(entries).unwrap().with_min_time(Span::secs(min_time)));
            let target = JobTarget::New(JobSpec::default());
            self.core.submit(NOW, Submit::array(target, TaskIds::Next(2), "program", vec![].into(), profile)).unwrap()
        }

        /// How many lanes are opened; all that starts ends. `forget` is called when ends have been told and lanes are still open.
        fn work(&mut self, mut forget: impl FnMut(&mut Scheduler)) -> usize {
            let mut opened = 0;
            loop {
                let mut reports = vec![];
                while let Some(action) = self.core.poll_action(NOW) {
                    match action {
                        Action::Record(fact) => self.shadow.replay(&Record { at: NOW, fact }).unwrap(),
                        Action::Send { message: ToWorker::Open(open), worker } => {
                            let ended = open.work.iter().flat_map(|work| &work.runs).map(|run| RunEnd {
                                task: run.first,
                                age: Span(0),
                                took: Span::secs(1),
                                outcome: Outcome::Finished,
                            });
                            let lane = LaneReport { grant: open.grant, ended: ended.collect(), started: None };
                            reports.push(News::Report { worker, lane });
                        }
                        _ => {}
                    }
                }
                if reports.is_empty() {
                    break;
                }
                opened += reports.len();
                reports.into_iter().for_each(|report| self.core.handle_event(NOW, report));
                forget(&mut self.core);
            }
            assert!(self.core.same_state(&self.shadow), "a replay gives another state");
            opened
        }
    }

    #[test]
    fn classes_of_forgotten_jobs_leave_and_their_numbers_come_again() {
        let mut rig = Rig::new();
        let stays = rig.submit(&["cpus=3"], 0);
        for n in 1..300 {
            // What has the number now, could run here or not, whatever had it before.
            let runs = n % 3 != 0;
            let job = rig.submit(if runs { &["cpus=1"] } else { &["cpus=1", "gpus=1"] }, n);
            let mut early = false;
            // Some are forgotten while their lanes are still open.
            let opened = rig.work(|core| early |= n % 2 == 0 && core.forget(NOW, job));
            assert_eq!((opened > 0, early), (runs, runs && n % 2 == 0), "job {n}");
            if !runs {
                rig.core.cancel(NOW, job, None);
                rig.work(|_| {});
            }
            if !early {
                assert_eq!(rig.core.state.classes.len(), 2, "the job has it, whether lanes have it or not");
                assert!(rig.core.forget(NOW, job));
                rig.work(|_| {});
            }
            let classes = &rig.core.state.classes;
            assert_eq!((classes.len(), classes.list.len()), (1, 2), "one waits for ever");
            let mind = &rig.core.mind;
            assert!(
                mind.lanes_of_class.len() < 2 && mind.runs.len() < 2 && mind.held.len() < 2 && mind.settled.len() < 2
            );
        }
        rig.core.cancel(NOW, stays, None);
        assert!(rig.core.forget(NOW, stays));
        rig.work(|_| {});
        assert_eq!(rig.core.state.classes.len(), 0);
    }

    #[test]
    fn a_lane_keeps_its_class() {
        let mut classes = Classes::default();
        let profile = |cpus| Profile::new(Request::cpus(cpus).unwrap());
        let id = classes.intern(&profile(1), "program");
        assert!(classes.hold(id) && !classes.release(id), "the lane has it");
        assert_ne!(classes.intern(&profile(2), "program"), id);
        assert!(classes.release(id) && !classes.release(id) && !classes.hold(id), "nobody has it");
        assert_eq!(classes.intern(&profile(3), "program"), id);
        assert_eq!(classes.len(), 2);
        assert!(!classes.hold(ClassId(7)));
    }
}
