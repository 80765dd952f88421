//! Submits that are not like the others.

mod common;

use common::booted;
use hq_core::{
    CancelOutcome, Fact, IdList, JobId, JobSpec, JobTarget, Ordinal, Profile, Record, Refusal, Request, Submit,
    TaskIds, TaskNumber, Tick, idlist::Run,
};
use hq_scheduler::{Action, Canceling, Condenser, Scheduler};

fn tasks(job: JobTarget, ids: TaskIds) -> Submit {
    Submit::array(job, ids, "program", vec![].into(), Profile::new(Request::cpus(1).unwrap()))
}

#[test]
fn a_submit_without_tasks_leaves_the_next_one_alone() {
    let mut core = booted();
    let open = core.open(Tick(1), JobSpec::default());
    core.submit(Tick(1), tasks(JobTarget::Attach(open), TaskIds::Next(0))).unwrap();
    let other = core.submit(Tick(1), tasks(JobTarget::New(JobSpec::default()), TaskIds::Next(3))).unwrap();
    assert_eq!(core.cancel(Tick(2), open, None), Canceling::Done(CancelOutcome::NothingLeft));
    core.submit(Tick(3), tasks(JobTarget::Attach(open), TaskIds::Next(1))).unwrap();
    let outcome = CancelOutcome::Canceled { canceled: 1, already_ended: 0 };
    assert_eq!(core.cancel(Tick(4), open, None), Canceling::Done(outcome));
    core.close(Tick(5), open);
    assert!(core.forget(Tick(5), open));
    assert_eq!(core.job(other).unwrap().counts.waiting, 3);
    assert_eq!(core.locate(Ordinal(2)), Some((other, TaskNumber(2))));
}

/// The facts so far.
fn facts(core: &mut Scheduler, now: Tick) -> Vec<Record> {
    let mut records = vec![];
    while let Some(action) = core.poll_action(now) {
        if let Action::Record(fact) = action {
            records.push(Record { at: now, fact });
        }
    }
    records
}

#[test]
fn what_is_bound_stays_so_until_it_is_closed() {
    let mut core = booted();
    let mut condenser = Condenser::new();
    let (open, closed) = (core.open(Tick(1), JobSpec::default()), core.open(Tick(1), JobSpec::default()));
    core.bind(Tick(1), closed).unwrap();
    core.close(Tick(1), closed);
    assert_eq!(core.bind(Tick(1), closed), Err(Refusal::NotOpen(closed)));
    assert_eq!(core.bind(Tick(1), JobId(9)), Err(Refusal::NoJob(JobId(9))));
    core.bind(Tick(1), open).unwrap();
    core.bind(Tick(1), open).unwrap();
    let records = facts(&mut core, Tick(1));
    assert_eq!(records.iter().filter(|record| matches!(record.fact, Fact::JobBound { .. })).count(), 2);
    records.iter().for_each(|record| condenser.take(record).unwrap());
    // By a snapshot as by what happened.
    for past in [records, condenser.records()] {
        let mut again = Scheduler::new();
        past.iter().for_each(|record| again.replay(record).unwrap());
        assert!(condenser.agrees_with(&again));
        assert_eq!([open, closed].map(|job| again.job(job).unwrap().is_bound), [true, false]);
    }
}

#[test]
fn numbers_are_new_in_their_job() {
    let mut core = booted();
    let open = core.open(Tick(1), JobSpec::default());
    let run = |start, count, step| Run { start, count, step };
    let half = 1 << 31;
    for (runs, accepted) in [
        (vec![run(1, 2, 1), run(2, 1, 1)], Err("Task 2 is defined more than once.")),
        (vec![run(8, half - 8, 2)], Ok(())),
        (vec![run(11, half - 8, 2)], Ok(())),
        (vec![run(0, 9, 1)], Err("Task 8 already exists in job 1")),
        (vec![run(0, 8, 1)], Ok(())),
        (vec![run(7, 1, 1)], Err("Task 7 already exists in job 1")),
    ] {
        let submit = tasks(JobTarget::Attach(open), TaskIds::Given(IdList::from(runs)));
        let result = core.submit(Tick(1), submit).map(|_| ()).map_err(|refusal| refusal.to_string());
        assert_eq!(result, accepted.map_err(str::to_owned));
    }
    let base = half - 8;
    for (number, ordinal) in [(8, 0), (11, base), (10, 1), (3, 2 * base + 3), (9, u32::MAX)] {
        let found = (ordinal != u32::MAX).then(|| Ordinal(u64::from(ordinal)));
        assert_eq!(core.find(open, TaskNumber(number)), found, "task {number}");
    }
}
