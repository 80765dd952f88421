//! However many kinds of requests there ever were: memory follows what there is, and a round what it is about.

use crate::common::{booted, node};
use hq_core::{
    GrantId, JobId, JobSpec, JobTarget, LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, Submit, TaskIds,
    Tick, ToWorker, WorkerId,
};
use hq_scheduler::{Action, Effort, News, Scheduler};

/// Classes of a job.
const CLASSES: u32 = 250;
const JOBS: u32 = 400;
/// Of each worker: some tasks run, the others wait.
const CPUS: [u32; 2] = [8, 4];
/// What is remembered comes and goes within so many jobs.
const SPAN: u32 = 20;

fn cluster(placement: &str) -> Scheduler {
    let mut core = booted();
    core.set_policy(Tick(0), "priority", placement).unwrap();
    for cpus in CPUS {
        core.join(Tick(0), node(cpus)).unwrap();
    }
    drain(&mut core, Tick(0));
    core
}

/// A job of classes that nobody has seen yet, of which some run before it is cancelled; and what the rounds looked at for it.
fn run_one(core: &mut Scheduler, nth: u32) -> (JobId, Effort) {
    let (now, before) = (Tick(1 + u64::from(nth) * 10), core.effort());
    let profile = |class: u32| {
        let request = Request::cpus(1).unwrap().with_min_time(Span(u64::from(nth * CLASSES + class + 1)));
        Profile::new(request)
    };
    let target = JobTarget::New(JobSpec::default());
    let submit = Submit::array(target, TaskIds::Next(CLASSES), "program", vec![].into(), profile(0));
    let submit =
        Submit { profiles: (0..CLASSES).map(profile).collect(), profile_of: (0..CLASSES as u16).collect(), ..submit };
    let job = core.submit(now, submit).unwrap();
    let opened = drain(core, now);
    assert_eq!(opened.len() as u32, CPUS.iter().sum());
    for (worker, grant, task) in &opened {
        let lane = LaneReport { grant: *grant, ended: vec![], started: Some((*task, Span(0))) };
        core.handle_event(now, News::Report { worker: *worker, lane });
    }
    core.cancel(now, job, None);
    drain(core, now);
    for (worker, grant, task) in opened {
        let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome: Outcome::Killed }];
        core.handle_event(now, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
    }
    assert_eq!(drain(core, now), []);
    assert!(core.job(job).unwrap().counts.is_terminated());
    (job, core.effort().since(before))
}

fn drain(core: &mut Scheduler, now: Tick) -> Vec<(WorkerId, GrantId, Ordinal)> {
    let mut opened = vec![];
    while let Some(action) = core.poll_action(now) {
        if let Action::Send { worker, message: ToWorker::Open(open) } = action {
            opened.push((worker, open.grant, open.work[0].runs[0].first));
        }
    }
    opened
}

/// All that a core knows, in letters.
fn size(core: &Scheduler) -> usize {
    format!("{core:?}").len()
}

#[test]
fn a_hundred_thousand_classes_leave_nothing() {
    let mut core = cluster("least-loaded");
    let (mut early, mut late) = (0, 0);
    let mut efforts = vec![];
    for nth in 0..JOBS {
        let (job, effort) = run_one(&mut core, nth);
        efforts.push(effort);
        assert!(core.forget(Tick(1 + u64::from(nth) * 10), job));
        drain(&mut core, Tick(1 + u64::from(nth) * 10));
        if nth < 2 * SPAN && nth.is_multiple_of(5) {
            early = early.max(size(&core));
        } else if nth >= JOBS - SPAN && nth.is_multiple_of(5) {
            late = late.max(size(&core));
        }
    }
    assert!(late < 2 * early, "{early} letters grew to {late}");
    assert_eq!(efforts[1], efforts[JOBS as usize - 1]);
}

/// Also where nobody forgets a job, and the classes with it.
#[test]
fn rounds_are_as_short_as_before() {
    let mut core = cluster("pack");
    let efforts: Vec<Effort> = (0..JOBS / 4).map(|nth| run_one(&mut core, nth).1).collect();
    assert_eq!(efforts[1], efforts[efforts.len() - 1]);
}
