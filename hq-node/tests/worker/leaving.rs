use hq_core::{LossReason, OnServerLost, Outcome, Span, ToWorker};
use hq_node::WorkerInput;

use crate::kit::*;

const NONE: [&str; 0] = [];

fn stop(reason: LossReason) -> WorkerInput {
    WorkerInput::Messages(vec![ToWorker::Stop { reason }, open(9, 90, 1), recall(1, 9, 0, 99)])
}

#[test]
fn every_way_out_kills_what_runs_and_is_the_last_word() {
    let refused = WorkerInput::Messages(vec![ToWorker::Refused { reason: "no".to_owned() }]);
    let cases = [
        (stop(LossReason::Stopped), "exit Stopped"),
        (stop(LossReason::IdleTimeout), "exit Stopped"),
        (stop(LossReason::ServerEnded), "exit ServerLost"),
        (stop(LossReason::HeartbeatLost), "exit ServerLost"),
        (stop(LossReason::ConnectionLost), "exit ServerLost"),
        (WorkerInput::LinkDown, "exit ServerLost"),
        (WorkerInput::Interrupted, "exit Interrupted"),
        (refused, "exit Refused(\"no\")"),
    ];
    for (input, exit) in cases {
        let mut rig = Rig::up_with(|config| config.time_limit = Some(Span::secs(100)));
        rig.tell([open(1, 5, 2), open(2, 20, 1), open(3, 30, 1)]);
        rig.end(3, 30, Outcome::Finished);
        assert_eq!(rig.input(input.clone()), ["leave 1/5", "leave 2/20", exit], "{input:?}");
        assert_eq!(rig.node.poll_timeout(), None);
        assert_eq!(rig.end(1, 5, Outcome::Finished), NONE);
        assert_eq!(rig.input(WorkerInput::LinkUp), NONE);
        assert_eq!(rig.tell([welcome(), open(7, 70, 1)]), NONE);
        assert_eq!(rig.input(input), NONE);
        assert_eq!(rig.pass(1_000_000), NONE);
    }
}

#[test]
fn without_a_welcome() {
    for (input, exit) in [
        (WorkerInput::LinkDown, "exit ServerLost"),
        (WorkerInput::Interrupted, "exit Interrupted"),
        (WorkerInput::Messages(vec![ToWorker::Refused { reason: "no".to_owned() }]), "exit Refused(\"no\")"),
        (stop(LossReason::Stopped), "exit Stopped"),
    ] {
        let mut rig = Rig::new(|_| {});
        rig.input(WorkerInput::LinkUp);
        assert_eq!(rig.input(input), [exit]);
    }
    let mut rig = Rig::new(|config| config.time_limit = Some(Span::secs(1)));
    rig.input(WorkerInput::LinkUp);
    assert_eq!(rig.pass_all(2_000), ["1000 exit TimeLimit"], "nothing is said where nobody knows it");
    let mut rig = Rig::new(|_| {});
    assert_eq!(rig.input(WorkerInput::LinkDown), ["exit ServerLost"], "the link never came");
}

#[test]
fn its_own_time_limit() {
    let mut rig = Rig::up_with(|config| config.time_limit = Some(Span::secs(5)));
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.pass_all(6_000), ["5000 leaving TIME LIMIT REACHED", "5000 leave 1/5", "5000 exit TimeLimit"]);
    assert_eq!(rig.end(1, 5, Outcome::Killed), NONE);
}

#[test]
fn what_is_not_reported_yet_is_said_before_leaving() {
    let mut rig = Rig::up();
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![open(1, 5, 1)]));
    rig.node.poll_output();
    rig.node.handle_input(rig.now(), WorkerInput::Ended { run: run(1, 5), outcome: Outcome::Finished });
    rig.node.handle_input(rig.now(), stop(LossReason::Stopped));
    assert_eq!(rig.drain(), ["report 1: 1/5 finished age 0 took 0", "exit Stopped"]);
}

#[test]
fn a_server_that_ends_is_a_server_lost() {
    let mut rig = Rig::up_with(|config| config.on_server_lost = OnServerLost::FinishRunning);
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.input(stop(LossReason::ServerEnded)), NONE, "under its policy");
    assert_eq!(rig.input(WorkerInput::LinkDown), NONE, "which follows");
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["exit ServerLost"]);
    let mut rig = Rig::up_with(|config| config.on_server_lost = OnServerLost::FinishRunning);
    assert_eq!(rig.input(WorkerInput::LinkDown), ["exit ServerLost"], "nothing runs");
}

#[test]
fn interrupted_and_out_of_time_while_waiting_for_the_last_runs() {
    let waiting = || {
        let mut rig = Rig::up_with(|config| {
            config.on_server_lost = OnServerLost::FinishRunning;
            config.time_limit = Some(Span::secs(5));
        });
        rig.tell([open(1, 5, 2)]);
        rig.input(WorkerInput::LinkDown);
        rig
    };
    assert_eq!(waiting().input(WorkerInput::Interrupted), ["leave 1/5", "exit Interrupted"]);
    assert_eq!(waiting().pass_all(9_000), ["5000 leave 1/5", "5000 exit TimeLimit"]);
}

/// W2: what the batch system takes away is no crash of what ran there.
#[test]
fn a_signal_to_a_worker_in_a_batch_job_is_told() {
    let job = hq_core::BatchJob { manager: "Slurm".to_owned(), id: "7".to_owned() };
    for (allocation, said) in [(None, &[][..]), (Some(job), &["leaving CONNECTION LOST"])] {
        let mut rig = Rig::up_with(|config| config.allocation = allocation);
        rig.tell([open(1, 5, 1)]);
        assert_eq!(rig.input(WorkerInput::Interrupted), [said, &["leave 1/5", "exit Interrupted"]].concat());
    }
}
