//! Workers with nothing to do are stopped; those with work are not.

mod common;

use common::{array, booted, node};
use hq_core::{LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, Tick, ToWorker};
use hq_scheduler::{Action, News, Scheduler};

const TIMEOUT: Span = Span(1_000_000);

#[test]
fn idle_time_begins_when_the_last_task_has_ended() {
    for request in [Request::cpus(1).unwrap(), Request::gang(1)] {
        let mut core = booted();
        let mut config = node(1);
        config.idle_timeout = Some(TIMEOUT);
        let worker = core.join(Tick(0), config).unwrap();
        assert_eq!(drain(&mut core, Tick(0)), (None, vec![]));

        // Work comes while it waits to be stopped.
        let submitted = Tick(0).after(Span(TIMEOUT.0 / 3));
        let profile = Profile::new(request);
        core.submit(submitted, array(1, profile)).unwrap();
        let (grant, stopped) = drain(&mut core, submitted);
        let grant = grant.expect("the task is started");
        assert_eq!(stopped, vec![]);
        core.handle_event(
            submitted,
            News::Report { worker, lane: LaneReport { grant, ended: vec![], started: Some((Ordinal(0), Span(0))) } },
        );
        for timeouts in 1..10 {
            let now = Tick(0).after(Span(TIMEOUT.0 * timeouts));
            core.handle_timeout(now);
            assert_eq!(drain(&mut core, now).1, vec![], "after {timeouts} timeouts of work");
        }

        let ended = Tick(0).after(Span(TIMEOUT.0 * 10));
        let end = RunEnd { task: Ordinal(0), age: Span(0), took: ended.since(submitted), outcome: Outcome::Finished };
        core.handle_event(ended, News::Report { worker, lane: LaneReport { grant, ended: vec![end], started: None } });
        drain(&mut core, ended);
        let stop = ended.after(TIMEOUT);
        assert_eq!(core.poll_timeout(), Some(stop));
        core.handle_timeout(stop);
        assert_eq!(drain(&mut core, stop).1, vec![worker]);
    }
}

/// The grant opened, and the workers stopped.
fn drain(core: &mut Scheduler, now: Tick) -> (Option<hq_core::GrantId>, Vec<hq_core::WorkerId>) {
    let (mut grant, mut stopped) = (None, vec![]);
    while let Some(action) = core.poll_action(now) {
        match action {
            Action::Send { message: ToWorker::Open(open), .. } => grant = Some(open.grant),
            Action::StopIdle { worker } => stopped.push(worker),
            _ => {}
        }
    }
    (grant, stopped)
}
