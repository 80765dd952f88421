use std::sync::Arc;

use hq_core::{
    Channel, Epoch, GrantId, Instance, JobId, LossReason, OnServerLost, Open, OpenLane, OpenLanes, Ordinal, Outcome,
    Parts, RunId, RunOutput, Span, SubmitId, ToWorker, WorkRun, idlist,
};
use hq_node::{WorkerInput, WorkerOutput};

use crate::kit::*;

const NONE: [&str; 0] = [];

#[test]
fn says_hello_and_takes_lanes_only_when_welcome() {
    let mut rig = Rig::new(|_| {});
    assert_eq!(rig.tell([welcome(), ToWorker::Submit(body(1)), open(1, 5, 2)]), NONE, "no link");
    assert_eq!(rig.input(WorkerInput::LinkUp), ["hello w"]);
    assert_eq!(rig.input(WorkerInput::LinkUp), NONE, "again");
    assert_eq!(rig.tell([ToWorker::Submit(body(1)), open(1, 5, 2), recall(1, 1, 0, 9)]), NONE, "not welcome yet");
    assert_eq!(rig.node.poll_timeout(), None);
    assert_eq!(rig.tell([welcome()]), NONE);
    assert_eq!(
        rig.tell([ToWorker::Submit(body(1)), open(1, 5, 2)]),
        ["start 1/5", "report 1: 1/5 runs for 0"],
        "the lane of before the welcome was not taken"
    );
}

#[test]
fn a_lane_runs_its_tasks_in_order_one_at_a_time() {
    let mut rig = Rig::up();
    assert_eq!(rig.tell([open(1, 5, 2)]), ["start 1/5", "report 1: 1/5 runs for 0"]);
    rig.now_ms = 20;
    assert_eq!(rig.tell([extend(1, work(3, 1))]), NONE);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["start 1/6", "report 2: 1/5 finished age 0 took 20, 1/6 runs for 0"]);
    assert_eq!(rig.end(1, 5, Outcome::Finished), NONE, "stale");
    assert_eq!(rig.end(2, 6, Outcome::Finished), NONE, "another lane");
    rig.now_ms = 50;
    assert_eq!(rig.end(1, 6, Outcome::Finished), ["start 1/3", "report 3: 1/6 finished age 0 took 30, 1/3 runs for 0"]);
    assert_eq!(rig.end(1, 3, Outcome::Finished), ["report 4: 1/3 finished age 0 took 0"]);
    assert_eq!(rig.tell([extend(1, work(8, 1))]), ["start 1/8", "report 5: 1/8 runs for 0"], "an idle lane goes on");
}

#[test]
fn lanes_are_independent() {
    let mut rig = Rig::up();
    assert_eq!(
        rig.tell([open(1, 10, 2), open(2, 20, 2)]),
        ["start 1/10", "start 2/20", "report 1: 1/10 runs for 0, 2/20 runs for 0"]
    );
    assert_eq!(
        rig.end(2, 20, failed()),
        ["report 2: 2/20 failed (bad) age 0 took 0"],
        "lane 2 holds, lane 1 still runs and was reported"
    );
    assert_eq!(
        rig.end(1, 10, Outcome::Finished),
        ["start 1/11", "report 3: 1/10 finished age 0 took 0, 1/11 runs for 0"]
    );
}

#[test]
fn what_a_start_carries() {
    let mut rig = Rig::up();
    let mut first = work(5, 3);
    first.runs[0].numbers = idlist::Run { start: 10, count: 3, step: 4 };
    first.runs.push(WorkRun { first: Ordinal(90), numbers: idlist::Run { start: 2, count: 1, step: 1 } });
    first.parts = Parts::new(["a", "b", "c", "d"]).unwrap();
    first.instances = vec![(Ordinal(90), Instance(2)), (Ordinal(6), Instance(1))];
    let mut gang = opened(1, vec![first]);
    gang.hosts = vec!["main".to_owned(), "other".to_owned()];
    (gang.variant, gang.variants) = (1, 2);
    let request = Arc::clone(&gang.request);
    // What is recalled from the middle must not shift the parts of those behind it.
    let messages = vec![ToWorker::Open(Box::new(gang)), recall(1, 1, 7, 1)];
    rig.node.handle_input(rig.now(), WorkerInput::Messages(messages));
    let mut seen = vec![];
    while let Some(output) = rig.node.poll_output() {
        let WorkerOutput::Start(order) = output else { continue };
        assert_eq!((order.worker.0, order.job.0, &*order.body.kind), (7, 3, "program"));
        assert_eq!((order.lane.variant, order.lane.variants, &order.lane.request), (1, 2, &request));
        assert_eq!((order.lane.hosts.len(), &*order.lane.server_uid), (2, "abcdef"));
        seen.push((order.run.task.0, order.number.0, order.instance.0, String::from_utf8(order.part).unwrap()));
        rig.node.handle_input(rig.now(), WorkerInput::Ended { run: order.run, outcome: Outcome::Finished });
    }
    let expected = [(5, 10, 0, "a"), (6, 14, 1, "b"), (90, 2, 2, "d")];
    assert_eq!(seen, expected.map(|(task, number, instance, part)| (task, number, instance, part.to_owned())));
}

#[test]
fn lanes_that_are_opened_together_are_lanes_of_their_own() {
    let lane = |n: u32, task: u64| OpenLane {
        grant: grant(n),
        allocation: Default::default(),
        run: WorkRun { first: Ordinal(task), numbers: idlist::Run { start: task as u32 + 100, count: 1, step: 1 } },
    };
    let together = |lanes: Vec<OpenLane>| {
        let Open { request, variant, variants, not_after, .. } = opened(1, vec![]);
        let instances = vec![(Ordinal(6), Instance(3))];
        let (submit, time_limit) = (SubmitId(1), None);
        ToWorker::OpenLanes(Box::new(OpenLanes {
            request,
            variant,
            variants,
            not_after,
            submit,
            time_limit,
            instances,
            lanes,
        }))
    };
    let mut rig = Rig::up();
    let one_by_one = rig.tell([open(1, 5, 1), open(2, 6, 1)]);
    let mut rig = Rig::up();
    assert_eq!(rig.tell([together(vec![lane(1, 5), lane(2, 6)])]), one_by_one);
    assert_eq!(rig.end(1, 5, failed()).len(), 1);
    assert_eq!(rig.tell([extend(2, work(9, 1)), close(1)]), NONE, "the other one runs");
    assert_eq!(rig.end(2, 6, Outcome::Finished)[0], "start 2/9");
    let mut old = lane(3, 7);
    old.grant.epoch.0 -= 1;
    assert_eq!(rig.tell([together(vec![old])]), NONE, "of another boot");
}

#[test]
fn tasks_that_are_killed_together_are_killed_one_by_one() {
    let lanes = [open(1, 5, 2), open(2, 7, 1), open(3, 8, 1)];
    let mut rig = Rig::up();
    rig.tell(lanes.clone());
    let one_by_one = rig.tell([kill(1, 5), kill(1, 6), kill(3, 8)]);
    let runs = [(1, 5), (1, 6), (3, 8), (9, 8)].map(|(n, task)| RunId { task: Ordinal(task), grant: grant(n) });
    let mut rig = Rig::up();
    rig.tell(lanes);
    assert_eq!(rig.tell([ToWorker::KillAll { runs: runs.to_vec() }]), one_by_one);
    assert_eq!(one_by_one.len(), 2, "what waits in a backlog, or is not there, is let be");
}

#[test]
fn a_dropped_body_lives_as_long_as_its_tasks() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2), ToWorker::DropSubmit(SubmitId(1)), ToWorker::DropSubmit(SubmitId(1))]);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["start 1/6", "report 2: 1/5 finished age 0 took 0, 1/6 runs for 0"]);
    let shown = rig.tell([open(2, 8, 1)]);
    assert!(shown[0].contains("2/8 failed (the server never sent the body"), "{shown:?}");
}

#[test]
fn after_a_run_that_did_not_finish_the_lane_holds() {
    for outcome in [failed(), Outcome::Killed] {
        let mut rig = Rig::up();
        rig.tell([open(1, 5, 3)]);
        assert_eq!(rig.end(1, 5, outcome).len(), 1, "only the report");
        assert_eq!(rig.tell([extend(1, work(9, 1)), ToWorker::Heartbeat]), NONE);
        assert_eq!(rig.tell([go_on(1)]), ["start 1/6", "report 3: 1/6 runs for 0"]);
        assert_eq!(rig.tell([go_on(1), go_on(1)]), NONE, "one at a time");
        assert_eq!(rig.end(1, 6, failed()).len(), 1, "to go on is no licence for later");
    }
}

#[test]
fn nothing_starts_too_late() {
    for (not_after_ms, at_ms, starts) in
        [(100, 90, true), (100, 91, false), (10, 0, true), (9, 0, true), (9, 1, false), (u64::MAX, 1 << 40, true)]
    {
        let mut rig = Rig::up_with(|config| config.heartbeat = Span(u64::MAX));
        let mut late = opened(1, vec![work(5, 3)]);
        late.not_after = Some(Span::millis(not_after_ms));
        let mut messages = vec![ToWorker::Open(Box::new(late))];
        let first = rig.tell(messages.drain(..).chain([recall(1, 1, 7, 1)]));
        let started = first.iter().any(|line| line == "start 1/5");
        assert!(started, "at receipt there is time: {not_after_ms} {first:?}");
        rig.now_ms = at_ms;
        let shown = rig.end(1, 5, Outcome::Finished);
        assert_eq!(shown.contains(&"start 1/6".to_owned()), starts, "{not_after_ms} {at_ms} {shown:?}");
        if !starts {
            assert_eq!(rig.tell([go_on(1), extend(1, work(8, 1))]), NONE, "nothing brings time back");
            assert_eq!(rig.tell([recall(1, 2, 0, 99)]), ["recalled 1 #2: 6+1 8+1"]);
        }
    }
}

#[test]
fn nothing_starts_while_the_link_is_silent() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 9)]);
    rig.now_ms = HEARTBEAT_MS - 1;
    assert_eq!(rig.end(1, 5, Outcome::Finished)[0], "start 1/6");
    rig.now_ms = HEARTBEAT_MS;
    assert_eq!(rig.end(1, 6, Outcome::Finished), ["report 3: 1/6 finished age 0 took 1"]);
    rig.now_ms += 100;
    assert_eq!(rig.tell([]), NONE, "an empty batch is no sign of life");
    for message in [ToWorker::Heartbeat, ToWorker::Ack { seq: 1 }, close(77)] {
        let mut rig = Rig::up();
        rig.tell([open(1, 5, 2)]);
        rig.now_ms = HEARTBEAT_MS;
        rig.end(1, 5, Outcome::Finished);
        assert_eq!(rig.tell([message]), ["start 1/6", "report 3: 1/6 runs for 0"]);
    }
}

#[test]
fn who_overslept_trusts_only_what_is_new() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2)]);
    rig.end(1, 5, Outcome::Failed("x".to_owned()));
    // Stopped for three heartbeats; the link holds what the server said before it gave this worker up.
    rig.now_ms += 3 * HEARTBEAT_MS;
    assert_eq!(rig.tell([ToWorker::GoOn { grant: grant(1) }, ToWorker::Heartbeat]), NONE);
    assert_eq!(rig.pass(0), ["beat"]);
    assert_eq!(rig.tell([ToWorker::Heartbeat]), NONE, "still from the pile");
    rig.now_ms += HEARTBEAT_MS / 2;
    assert_eq!(rig.pass(0), NONE, "time alone is no sign of life");
    assert_eq!(rig.tell([ToWorker::Heartbeat])[0], "start 1/6", "the server is there, and has us");
    // So with what comes with a late welcome.
    let mut rig = Rig::new(|_| {});
    rig.input(WorkerInput::LinkUp);
    rig.now_ms = 2 * HEARTBEAT_MS;
    assert_eq!(rig.tell([welcome(), ToWorker::Submit(body(1)), open(1, 5, 2)]), NONE);
    rig.now_ms += HEARTBEAT_MS / 2;
    assert_eq!(rig.tell([ToWorker::Heartbeat])[0], "start 1/5");
    // A little late is not asleep.
    let mut rig = Rig::up();
    rig.now_ms = HEARTBEAT_MS + HEARTBEAT_MS / 2;
    assert_eq!(rig.tell([open(1, 5, 2)])[0], "start 1/5");
}

#[test]
fn beats_when_it_said_nothing_else() {
    let mut rig = Rig::up();
    assert_eq!(rig.pass_all(2 * HEARTBEAT_MS), ["8000 beat", "16000 beat"]);
    rig.now_ms += 1_000;
    rig.tell([open(1, 5, 1)]);
    assert_eq!(rig.pass_all(HEARTBEAT_MS + 1_000), ["25000 beat"], "counted from the report");
    assert_eq!(rig.pass(10 * HEARTBEAT_MS), ["beat"], "one for a long sleep");
    let mut rig = Rig::up_with(|config| config.heartbeat = Span::ZERO);
    assert_eq!(rig.pass_all(3), ["1 beat", "2 beat", "3 beat"], "an absurd distance is not obeyed");
}

#[test]
fn recalls_give_back_what_has_not_started() {
    struct Case {
        ranges: Vec<(u64, u64)>,
        back: &'static str,
        next: &'static str,
    }
    let cases = [
        Case { ranges: vec![(0, 100)], back: " 6+4 20+1", next: "" },
        Case { ranges: vec![(5, 1)], back: "", next: "6" },
        Case { ranges: vec![], back: "", next: "6" },
        Case { ranges: vec![(7, 1)], back: " 7+1", next: "6" },
        Case { ranges: vec![(20, 1), (6, 2), (7, 1), (6, 0)], back: " 6+2 20+1", next: "8" },
        Case { ranges: vec![(u64::MAX, 5), (u64::MAX, 5), (9, u64::MAX)], back: " 9+1 20+1", next: "6" },
        Case { ranges: vec![(0, u64::MAX), (u64::MAX, u64::MAX)], back: " 6+4 20+1", next: "" },
    ];
    for Case { ranges, back, next } in cases {
        let mut rig = Rig::up();
        rig.tell([open(1, 5, 5), extend(1, work(20, 1))]);
        let tasks = ranges.iter().map(|(start, len)| range(*start, *len)).collect();
        assert_eq!(
            rig.tell([ToWorker::Recall { grant: grant(1), n: 1, tasks }]),
            [format!("recalled 1 #1:{back}")],
            "{ranges:?}"
        );
        let shown = rig.end(1, 5, Outcome::Finished);
        let start = if next.is_empty() { vec![] } else { vec![format!("start 1/{next}")] };
        assert_eq!(shown[..shown.len() - 1], start, "{ranges:?}");
    }
}

#[test]
fn a_recall_is_answered_whatever_it_names_and_done_once() {
    let mut rig = Rig::up();
    assert_eq!(rig.tell([recall(9, 4, 0, 9)]), ["recalled 9 #4:"], "no such lane");
    rig.tell([open(1, 5, 3)]);
    assert_eq!(rig.tell([recall(1, 1, 7, 1)]), ["recalled 1 #1: 7+1"]);
    assert_eq!(rig.tell([extend(1, work(7, 1)), recall(1, 1, 7, 1)]), NONE, "doubled, after 7 was given again");
    assert_eq!(rig.tell([recall(1, 2, 7, 1)]), ["recalled 1 #2: 7+1"]);
    rig.tell([close(1)]);
    assert_eq!(rig.tell([recall(1, 3, 0, 99)]), ["recalled 1 #3:"], "closing");
    rig.end(1, 5, Outcome::Finished);
    assert_eq!(rig.tell([recall(1, 3, 0, 99)]), ["recalled 1 #3:"], "closed");
}

#[test]
fn what_started_before_a_recall_is_reported_before_its_answer() {
    let mut rig = Rig::up();
    // The shell has taken the start, and the recall overtakes the rest of the drain.
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![open(1, 5, 2)]));
    assert!(matches!(rig.node.poll_output(), Some(WorkerOutput::Start(_))));
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![recall(1, 1, 5, 2)]));
    assert_eq!(rig.drain(), ["report 1: 1/5 runs for 0", "recalled 1 #1: 6+1"]);
}

#[test]
fn a_recall_in_the_batch_of_its_lane_comes_first() {
    let mut rig = Rig::up();
    assert_eq!(rig.tell([open(1, 5, 2), recall(1, 1, 5, 2)]), ["recalled 1 #1: 5+2"], "nothing had started");
}

#[test]
fn close_ends_a_lane_with_its_run() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 3)]);
    assert_eq!(rig.tell([close(1), close(1), extend(1, work(30, 1)), go_on(1)]), NONE);
    assert_eq!(rig.tell([recall(1, 1, 0, 99)]), ["recalled 1 #1:"], "the backlog is dropped, nothing is taken");
    assert_eq!(rig.end(1, 5, failed()), ["report 2: 1/5 failed (bad) age 0 took 0"]);
    assert_eq!(rig.tell([go_on(1), extend(1, work(31, 1))]), NONE);
    assert_eq!(rig.tell([open(1, 5, 3)]), NONE, "a name is not used twice");
    assert_eq!(rig.tell([open(2, 40, 0), close(2), open(2, 41, 1)]), NONE, "closed while idle");
}

#[test]
fn kill_ends_a_run_and_only_that() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.tell([kill(1, 6), kill(1, 99), kill(9, 5)]), NONE, "in the backlog, or not there");
    assert_eq!(rig.tell([kill(1, 5), kill(1, 5)]), ["interrupt 1/5"]);
    assert_eq!(rig.pass_all(2_000), ["1000 kill 1/5"]);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["report 2: 1/5 killed age 0 took 2000"], "whatever the runner says");
    assert_eq!(rig.tell([go_on(1)])[0], "start 1/6");
    assert_eq!(rig.tell([kill(1, 6)]), ["interrupt 1/6"]);
    assert_eq!(rig.end(1, 6, failed()), ["report 4: 1/6 killed age 0 took 0"]);
    assert_eq!(rig.pass_all(2_000), NONE, "it has ended in time");
}

#[test]
fn a_time_limit_ends_a_run() {
    let limited = || {
        let mut rig = Rig::up();
        let mut short = work(5, 2);
        short.time_limit = Some(Span::millis(300));
        rig.tell([ToWorker::Open(Box::new(opened(1, vec![short])))]);
        rig
    };
    let mut rig = limited();
    assert_eq!(rig.pass_all(2_000), ["300 interrupt 1/5", "1300 kill 1/5"]);
    assert_eq!(rig.end(1, 5, Outcome::Killed), ["report 2: 1/5 failed (Time limit reached) age 0 took 2000"]);
    assert_eq!(rig.tell([go_on(1)])[0], "start 1/6");
    assert_eq!(rig.pass_all(400), ["2300 interrupt 1/6"], "each run has its own time");
    assert_eq!(rig.tell([kill(1, 6)]), NONE, "it is being ended");
    assert_eq!(rig.pass_all(2_000), ["3300 kill 1/6"]);
    assert_eq!(rig.end(1, 6, Outcome::Killed), ["report 4: 1/6 killed age 0 took 2400"], "the server's word counts");

    let mut rig = limited();
    rig.now_ms = 299;
    assert_eq!(rig.tell([kill(1, 5)]), ["interrupt 1/5"]);
    assert_eq!(rig.pass_all(2_000), ["1299 kill 1/5"], "a kill replaces the limit");

    let mut rig = limited();
    rig.now_ms = 200;
    assert_eq!(rig.end(1, 5, Outcome::Finished)[0], "start 1/6");
    assert_eq!(rig.pass_all(250), NONE, "the limit of 5 does not reach 6");
}

#[test]
fn tasks_that_cannot_be_run_fail_one_by_one() {
    let mut unknown = work(5, 3);
    unknown.submit = SubmitId(99);
    let mut few_parts = work(5, 3);
    few_parts.parts = Parts::new(["a", "b"]).unwrap();
    let mut numbers = work(5, 3);
    numbers.runs[0].numbers = idlist::Run { start: u32::MAX, count: 3, step: u32::MAX };
    for (bad, first_fails, why) in
        [(unknown, true, "never sent"), (few_parts, true, "damaged"), (numbers, false, "past")]
    {
        let mut rig = Rig::up();
        let shown = rig.tell([ToWorker::Open(Box::new(opened(1, vec![bad])))]);
        let shown = if first_fails {
            shown
        } else {
            assert_eq!(shown[0], "start 1/5", "its own number is possible");
            rig.end(1, 5, Outcome::Finished)
        };
        let task = if first_fails { 5 } else { 6 };
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].contains(&format!("1/{task} failed (")) && shown[0].contains(why), "{shown:?}");
        let shown = rig.tell([go_on(1)]);
        assert!(shown[0].contains(&format!("1/{} failed (", task + 1)), "the next one, after a word: {shown:?}");
    }
}

#[test]
fn absurd_work_costs_nothing() {
    let mut rig = Rig::up();
    let mut past_the_end = work(u64::MAX - 3, u32::MAX);
    past_the_end.runs[0].numbers.step = u32::MAX;
    assert_eq!(rig.tell([open(1, 1, 0), extend(1, past_the_end)]), NONE, "ordinals that cannot be");
    let mut huge = work(1 << 40, u32::MAX);
    huge.submit = SubmitId(99);
    huge.runs.push(WorkRun { first: Ordinal(1 << 50), numbers: idlist::Run { start: 0, count: u32::MAX, step: 0 } });
    let shown = rig.tell([extend(1, huge)]);
    assert_eq!(shown.len(), 1, "one end, and the lane holds: {shown:?}");
    assert_eq!(
        rig.tell([recall(1, 1, 0, u64::MAX)]),
        [format!("recalled 1 #1: {}+{} {}+{}", (1u64 << 40) + 1, u32::MAX - 1, 1u64 << 50, u32::MAX)]
    );
}

#[test]
fn doubled_and_foreign_lanes_change_nothing() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.tell([open(1, 5, 2), open(1, 50, 2), extend(1, work(5, 2))]), NONE);
    let mut old = opened(2, vec![work(70, 1)]);
    old.grant = GrantId { epoch: Epoch(0), n: 2 };
    assert_eq!(rig.tell([ToWorker::Open(Box::new(old)), welcome()]), NONE, "of another boot");
    assert_eq!(rig.tell([recall(1, 1, 0, 99)]), ["recalled 1 #1: 6+1"], "nothing was given twice");
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["report 2: 1/5 finished age 0 took 0"]);
    assert_eq!(rig.tell([extend(1, work(4, 3))])[0], "start 1/4", "5 has run, 4 and 6 are new");
    assert_eq!(rig.end(1, 4, Outcome::Finished)[0], "start 1/6");
}

#[test]
fn after_the_server_only_what_runs_goes_on_under_finish_running() {
    let mut rig = Rig::up_with(|config| config.on_server_lost = OnServerLost::FinishRunning);
    let mut short = work(20, 2);
    short.time_limit = Some(Span::millis(300));
    rig.tell([open(1, 5, 2), ToWorker::Open(Box::new(opened(2, vec![short])))]);
    assert_eq!(rig.input(WorkerInput::LinkDown), NONE);
    assert_eq!(rig.input(WorkerInput::LinkDown), NONE);
    assert_eq!(rig.tell([open(3, 50, 1), kill(1, 5)]), NONE, "nobody is there");
    assert_eq!(rig.pass_all(20_000), ["300 interrupt 2/20", "1300 kill 2/20"], "limits hold, no beats");
    assert_eq!(rig.end(2, 20, Outcome::Killed), NONE);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["exit ServerLost"]);
    assert_eq!(rig.input(WorkerInput::Interrupted), NONE, "it has left");
}

#[test]
fn words_of_a_run_come_behind_its_start_and_before_its_end() {
    let mut rig = Rig::up();
    let word = |n, task| WorkerInput::Notify { run: run(n, task), message: "hi".to_owned() };
    assert_eq!(rig.input(word(1, 5)), NONE, "no such run");
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.input(word(1, 5)), ["notify 1/5: hi"]);
    assert_eq!(rig.input(word(1, 6)), NONE, "it has not begun");
    rig.end(1, 5, Outcome::Finished);
    assert_eq!(rig.input(word(1, 5)), NONE, "it has ended");
    rig.input(WorkerInput::LinkDown);
    assert_eq!(rig.input(word(1, 6)), NONE, "nobody listens");
}

fn print(n: u32, task: u64, session: u64, offset: u64) -> WorkerInput {
    let (channel, data) = (Channel::Stdout, b"x"[..].into());
    WorkerInput::Printed { job: JobId(1), output: RunOutput { run: run(n, task), session, channel, offset, data } }
}

fn listen(session: u64, credit: u32) -> ToWorker {
    ToWorker::Listen { job: JobId(1), session, credit }
}

#[test]
fn what_is_printed_needs_room_and_a_run() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.input(print(1, 5, 1, 0)), NONE, "nobody listens");
    assert_eq!(rig.tell([listen(1, 2)]), ["listen 1#1+2"]);
    assert_eq!(rig.input(print(1, 5, 1, 1)), ["output 1/5: 1"]);
    assert_eq!(rig.input(print(1, 6, 1, 2)), ["listen 1#1+1"], "it has not begun: its room is free again");
    assert_eq!(rig.input(print(1, 5, 1, 3)), ["output 1/5: 3"]);
    assert_eq!(rig.input(print(1, 5, 1, 4)), NONE, "no room");
    assert_eq!(rig.tell([listen(1, 1)]), ["listen 1#1+1"]);
    assert_eq!(rig.tell([ToWorker::Unlisten { job: JobId(1), session: 1 }]), ["unlisten 1#1"]);
    assert_eq!(rig.input(print(1, 5, 1, 5)), NONE, "nobody listens any more");
}

#[test]
fn a_new_session_has_its_own_room() {
    let mut rig = Rig::up();
    rig.tell([open(1, 5, 2)]);
    rig.tell([listen(1, 9)]);
    assert_eq!(rig.tell([listen(2, 1)]), ["listen 1#2+1"]);
    assert_eq!(rig.input(print(1, 5, 1, 0)), NONE, "for the room of the one before");
    assert_eq!(rig.input(print(1, 5, 2, 1)), ["output 1/5: 1"], "which took nothing of this one");
    assert_eq!(rig.input(print(1, 5, 2, 2)), NONE, "nor left anything");
}

#[test]
fn programs_that_are_left_to_finish_wait_for_no_listener() {
    for lost in [WorkerInput::LinkDown, WorkerInput::Messages(vec![ToWorker::Stop { reason: LossReason::ServerEnded }])]
    {
        let mut rig = Rig::up_with(|config| config.on_server_lost = OnServerLost::FinishRunning);
        rig.tell([open(1, 5, 2), listen(1, 2), ToWorker::Listen { job: JobId(7), session: 3, credit: 0 }]);
        assert_eq!(rig.input(lost), ["unlisten 1#1", "unlisten 7#3"]);
        assert_eq!(rig.input(print(1, 5, 1, 0)), NONE);
        assert_eq!(rig.end(1, 5, Outcome::Finished), ["exit ServerLost"]);
    }
}
