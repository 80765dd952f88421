use hq_core::{FromWorker, Outcome, Span, ToWorker};
use hq_node::{WorkerInput, WorkerOutput};

use crate::kit::*;

const REPORT_ENDS_MAX: usize = 4096;
const UNACKED_MAX: usize = 65_536;

/// Ends each run in its start, as a runner that does nothing; sizes of the reports, and their last number.
fn run_through(rig: &mut Rig) -> (Vec<usize>, u64) {
    let (mut sizes, mut seq) = (vec![], 0);
    while let Some(output) = rig.node.poll_output() {
        match output {
            WorkerOutput::Start(order) => {
                let ended = WorkerInput::Ended { run: order.run, outcome: Outcome::Finished };
                rig.node.handle_input(rig.now(), ended);
            }
            WorkerOutput::Send(messages) => {
                let [FromWorker::Report(report)] = &messages[..] else { panic!("{messages:?}") };
                assert!(report.lanes.iter().all(|lane| lane.started.is_none()), "all have ended");
                sizes.push(report.lanes.iter().map(|lane| lane.ended.len()).sum());
                seq = report.seq;
            }
            other => panic!("{other:?}"),
        }
    }
    (sizes, seq)
}

fn tell(rig: &mut Rig, message: ToWorker) -> (Vec<usize>, u64) {
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![message]));
    run_through(rig)
}

#[test]
fn many_short_runs_share_a_report() {
    for (tasks, sizes) in [
        (1, vec![1]),
        (1_000, vec![1_000]),
        (REPORT_ENDS_MAX as u32, vec![REPORT_ENDS_MAX]),
        (10_000, vec![REPORT_ENDS_MAX, REPORT_ENDS_MAX, 10_000 - 2 * REPORT_ENDS_MAX]),
    ] {
        assert_eq!(tell(&mut Rig::up(), open(1, 5, tasks)).0, sizes);
    }
}

#[test]
fn lanes_take_turns() {
    let mut rig = Rig::up();
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![open(1, 0, 3), open(2, 10, 3)]));
    let mut order = vec![];
    while let Some(output) = rig.node.poll_output() {
        if let WorkerOutput::Start(start) = output {
            order.push(start.run.task.0);
            let ended = WorkerInput::Ended { run: start.run, outcome: Outcome::Finished };
            rig.node.handle_input(rig.now(), ended);
        }
    }
    assert_eq!(order, [0, 10, 1, 11, 2, 12]);
}

#[test]
fn without_acknowledgement_lanes_hold_at_a_bound() {
    let mut rig = Rig::up();
    let (sizes, _) = tell(&mut rig, open(1, 5, 200_000));
    assert_eq!(sizes, vec![REPORT_ENDS_MAX; UNACKED_MAX / REPORT_ENDS_MAX]);
    assert_eq!(tell(&mut rig, ToWorker::Heartbeat).0, []);
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: 17 }).0, [], "never sent");
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: u64::MAX }).0, [], "never sent");
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: 2 }), (vec![REPORT_ENDS_MAX; 2], 18), "that is room for two");
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: 2 }).0, [], "doubled");
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: 1 }).0, [], "late");
    assert_eq!(tell(&mut rig, ToWorker::Ack { seq: 18 }).0.len(), 16);
}

#[test]
fn runs_count_towards_the_bound() {
    let mut rig = Rig::up();
    tell(&mut rig, open(1, 5, UNACKED_MAX as u32 - 1));
    assert_eq!(rig.tell([open(2, 1 << 20, 1), open(3, 1 << 21, 1)])[0], "start 2/1048576");
    let shown = rig.end(2, 1 << 20, Outcome::Finished);
    assert_eq!(shown.len(), 1, "lane 3 holds: {shown:?}");
    assert_eq!(rig.tell([ToWorker::Ack { seq: 1 }])[0], "start 3/2097152");
}

#[test]
fn ages_are_as_of_the_report() {
    let mut rig = Rig::up();
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![open(1, 5, 2), open(2, 20, 1)]));
    assert_eq!(show(&rig.node.poll_output().unwrap()), ["start 1/5"]);
    assert_eq!(show(&rig.node.poll_output().unwrap()), ["start 2/20"]);
    rig.now_ms = 30;
    rig.node.handle_input(rig.now(), WorkerInput::Ended { run: run(1, 5), outcome: Outcome::Finished });
    rig.now_ms = 40;
    rig.node.handle_timeout(rig.now());
    assert_eq!(
        rig.drain(),
        ["start 1/6", "report 1: 1/5 finished age 10 took 30, 1/6 runs for 0, 2/20 runs for 40"],
        "taken and ended before any report: only the end is said"
    );
}

#[test]
fn scattered_tasks_in_a_long_lived_lane() {
    let mut rig = Rig::up_with(|config| config.heartbeat = Span(u64::MAX));
    rig.tell([open(1, 0, 0)]);
    let mut seq = 0;
    for i in 1..20_000 {
        rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![extend(1, work(2 * i, 1)), ToWorker::Ack { seq }]));
        let (sizes, last) = run_through(&mut rig);
        assert_eq!(sizes, [1]);
        seq = last;
        assert_eq!(tell(&mut rig, extend(1, work(2 * i, 1))).0, [], "doubled at once");
    }
}

#[test]
fn the_run_of_a_long_lived_lane_is_not_forgotten() {
    let mut rig = Rig::up_with(|config| config.heartbeat = Span(u64::MAX));
    rig.tell([open(1, 2, 1)]);
    for i in 1..10_000 {
        let (runs, next) = (2 * i, 2 * (i + 1));
        assert_eq!(rig.tell([extend(1, work(next, 1)), extend(1, work(runs, 1)), ToWorker::Ack { seq: i }]).len(), 0);
        assert_eq!(rig.end(1, runs, Outcome::Finished)[0], format!("start 1/{next}"), "and not {runs} again");
    }
}
