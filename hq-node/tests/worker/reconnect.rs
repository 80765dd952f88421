//! A worker that loses its server and comes back.

use hq_core::{
    Epoch, FromWorker, KeptGrant, LossReason, OnServerLost, OrdinalRange, Outcome, Resumed, Span, ToWorker, Welcome,
};
use hq_node::{WorkerInput, WorkerOutput};

use crate::kit::*;

const NONE: [&str; 0] = [];

fn rig() -> Rig {
    Rig::up_with(|config| config.on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) })
}

/// The link is lost and there again.
fn again(rig: &mut Rig) -> Vec<String> {
    rig.input(WorkerInput::LinkDown);
    assert_eq!(last_word(rig.pass_all(100)), "connect");
    rig.input(WorkerInput::LinkUp)
}

fn last_word(lines: Vec<String>) -> String {
    lines.last().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned()
}

/// The server, of its second boot, knows the worker and lets it keep this.
fn resumed(kept: &[(u32, &[OrdinalRange])]) -> ToWorker {
    let ToWorker::Welcome(welcome) = welcome() else { unreachable!("it is one") };
    let kept = kept.iter().map(|(n, tasks)| KeptGrant { grant: grant(*n), tasks: tasks.to_vec() });
    let welcome = Welcome { epoch: Epoch(2), ..welcome };
    ToWorker::Resumed(Box::new(Resumed { welcome, kept: kept.collect() }))
}

#[test]
fn it_says_what_it_has_and_what_nobody_acknowledged() {
    let mut rig = rig();
    rig.tell([open(1, 5, 4), open(2, 20, 1)]);
    rig.now_ms = 10;
    rig.end(1, 5, Outcome::Finished);
    rig.tell([ToWorker::Ack { seq: 1 }]);
    assert_eq!(rig.input(WorkerInput::LinkDown), NONE);
    rig.now_ms = 40;
    assert_eq!(rig.end(2, 20, failed()), NONE, "nobody listens");
    assert_eq!(rig.tell([go_on(2), open(3, 50, 1)]), NONE, "nor speaks");
    assert_eq!(last_word(rig.pass_all(70)), "connect");
    assert_eq!(
        rig.input(WorkerInput::LinkUp),
        ["resume 7 of 1 by 9, 1 safe; 1: 6 runs for 100 7+2 wait; 2:; \
          report 2: 1/5 finished age 100 took 10, 1/6 runs for 100; report 3: 2/20 failed (bad) age 70 took 40"]
    );
}

#[test]
fn kept_lanes_go_on_when_told_to() {
    let mut rig = rig();
    rig.tell([open(1, 5, 4), open(2, 20, 9)]);
    again(&mut rig);
    assert_eq!(rig.end(1, 5, Outcome::Finished), NONE);
    let kept = resumed(&[(1, &[range(5, 2)]), (2, &[range(20, 9)])]);
    assert_eq!(rig.tell([kept]), ["report 2: 1/5 finished age 0 took 100"]);
    assert_eq!(rig.tell([go_on(1)]), ["start 1/6", "report 3: 1/6 runs for 0"]);
    assert_eq!(rig.end(1, 6, Outcome::Finished), ["report 4: 1/6 finished age 0 took 0"], "7 and 8 are not its own");
    // A new boot counts its recalls anew.
    assert_eq!(rig.tell([recall(2, 1, 20, 9)]), ["recalled 2 #1: 21+8"]);
    // Of the new boot.
    let mut opened = opened(1, vec![work(60, 1)]);
    opened.grant.epoch = Epoch(2);
    assert_eq!(rig.tell([ToWorker::Submit(body(1)), ToWorker::Open(Box::new(opened))])[0], "start 1/60");
}

#[test]
fn what_ended_without_the_servers_knowledge_may_come_again() {
    let mut rig = rig();
    rig.tell([open(1, 5, 1)]);
    rig.end(1, 5, Outcome::Finished);
    again(&mut rig);
    rig.tell([resumed(&[(1, &[])]), go_on(1), ToWorker::Submit(body(1))]);
    assert_eq!(rig.tell([extend(1, work(5, 1))]), ["start 1/5", "report 3: 1/5 runs for 0"]);
}

#[test]
fn what_is_not_kept_dies_and_nothing_starts_beside_it() {
    let mut rig = rig();
    rig.tell([open(1, 5, 4), open(2, 20, 9), open(3, 40, 9)]);
    again(&mut rig);
    // Lane 2 is over; lane 3 goes on, but not with what runs there.
    let kept = resumed(&[(1, &[range(5, 4)]), (3, &[range(41, 2)])]);
    assert_eq!(rig.tell([kept]), ["leave 2/20", "leave 3/40"]);
    assert_eq!(rig.tell([go_on(1), go_on(3)]), NONE);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["report 2: 1/5 finished age 0 took 100"]);
    assert_eq!(rig.end(2, 20, failed()), NONE, "nobody hears of it");
    assert_eq!(rig.end(3, 40, failed())[..2], ["start 1/6", "start 3/41"]);
    assert_eq!(rig.tell([extend(2, work(29, 1)), go_on(2)]), NONE);
}

#[test]
fn a_worker_that_nobody_knows_begins_anew() {
    let mut rig = rig();
    rig.tell([open(1, 5, 4), open(2, 20, 9)]);
    again(&mut rig);
    assert_eq!(rig.tell([ToWorker::Forgotten]), ["leave 1/5", "leave 2/20", "hello w"]);
    assert_eq!(rig.end(1, 5, Outcome::Finished), NONE);
    rig.tell([welcome(), ToWorker::Submit(body(1))]);
    assert_eq!(rig.tell([open(1, 5, 4)]), NONE, "a run of its former life still dies");
    assert_eq!(rig.end(2, 20, failed()), ["start 1/5", "report 1: 1/5 runs for 0"]);
}

#[test]
fn a_new_beginning_has_only_the_time_that_is_left() {
    let mut rig = Rig::up_with(|config| {
        config.on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) };
        config.time_limit = Some(Span::secs(10));
    });
    rig.now_ms = 3_900;
    again(&mut rig);
    rig.node.handle_input(rig.now(), WorkerInput::Messages(vec![ToWorker::Forgotten]));
    let said = std::iter::from_fn(|| rig.node.poll_output()).find_map(|output| match output {
        WorkerOutput::Send(messages) => Some(messages),
        _ => None,
    });
    let [FromWorker::Hello(config)] = &said.unwrap()[..] else { panic!("no hello") };
    assert_eq!(config.time_limit, Some(Span::secs(6)));
}

#[test]
fn it_tries_again_and_again_and_then_gives_up() {
    let mut rig = rig();
    rig.tell([open(1, 5, 1)]);
    rig.input(WorkerInput::LinkDown);
    let mut tries = 0;
    let end = loop {
        let at = rig.node.poll_timeout().expect("it never rests");
        rig.now_ms = at.0.div_ceil(1_000);
        rig.node.handle_timeout(at);
        match &rig.drain()[..] {
            [line] if line == "connect" => {
                tries += 1;
                assert_eq!(rig.input(WorkerInput::LinkDown), NONE);
            }
            lines => break lines.to_vec(),
        }
    };
    assert_eq!((end, rig.now_ms), (vec!["leave 1/5".to_owned(), "exit ServerLost".to_owned()], 60_000));
    assert!((8..20).contains(&tries), "{tries} tries");
}

#[test]
fn a_silent_server_is_a_lost_one() {
    let mut rig = rig();
    rig.tell([open(1, 5, 1)]);
    let lines = rig.pass_all(13_000);
    assert_eq!(lines[..2], ["8000 beat", "12000 disconnect"]);
    assert_eq!(last_word(lines), "connect");
    // Nor does one that does not answer count.
    rig.input(WorkerInput::LinkUp);
    assert_eq!(last_word(rig.pass_all(16_000)), "disconnect");
    // Who slept so long hears what waits on the link first.
    let mut rig = rig_that_slept();
    assert_eq!(rig.tell([ToWorker::Heartbeat]), NONE);
    assert_eq!(rig.pass(1), NONE, "old words say nothing");
    rig.now_ms += 4_000;
    rig.tell([ToWorker::Heartbeat]);
    assert!(!rig.pass(7_000).contains(&"disconnect".to_owned()));
}

fn rig_that_slept() -> Rig {
    let mut rig = rig();
    assert_eq!(rig.pass(30_000), ["beat"]);
    rig
}

#[test]
fn a_server_that_ends_on_purpose_is_not_looked_for() {
    for (reason, expected) in [
        (LossReason::ServerEnded, vec!["leave 1/5", "exit ServerLost"]),
        (LossReason::Stopped, vec!["leave 1/5", "exit Stopped"]),
        (LossReason::HeartbeatLost, vec![]),
    ] {
        let mut rig = rig();
        rig.tell([open(1, 5, 1)]);
        assert_eq!(rig.tell([ToWorker::Stop { reason }]), expected, "{reason:?}");
    }
    let mut rig = Rig::new(|config| config.on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) });
    rig.input(WorkerInput::LinkUp);
    assert_eq!(rig.input(WorkerInput::LinkDown), ["exit ServerLost"], "it never had one");
}

#[test]
fn stale_and_impossible_answers_change_nothing() {
    let mut rig = rig();
    rig.tell([open(1, 5, 2)]);
    assert_eq!(rig.tell([resumed(&[]), ToWorker::Forgotten]), NONE, "nobody asked");
    again(&mut rig);
    assert_eq!(rig.tell([welcome(), open(2, 20, 1)]), NONE);
    assert_eq!(rig.tell([resumed(&[(1, &[range(5, 2)]), (9, &[range(1, 1)])])]), NONE);
    assert_eq!(rig.end(1, 5, Outcome::Finished), ["report 2: 1/5 finished age 0 took 100"]);
}
