//! Random messages, sound ones and nonsense, against a model that spells out each task.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{
    Channel, FailCause, FromWorker, JobId, OnServerLost, Ordinal, Outcome, Parts, Report, Rng, RunId, RunOutput, Span,
    SubmitId, ToWorker, Work, WorkRun, idlist,
};
use hq_node::{StopHow, WorkerInput, WorkerOutput};
use proptest::prelude::*;

use crate::kit::*;

const GRANTS: u64 = 4;
const TASKS: u64 = 60;
const LIMIT_REACHED: &str = "Time limit reached";

/// A lane as its rules say, task by task.
#[derive(Default)]
struct LaneModel {
    /// Not started, with its number; none where it cannot run.
    waiting: VecDeque<(u64, Option<u32>)>,
    /// Started, or found impossible, in this lane.
    begun: BTreeSet<u64>,
    running: Option<u64>,
    holds: bool,
    closing: bool,
    closed: bool,
    recalls: u32,
}

struct World {
    rig: Rig,
    policy: OnServerLost,
    rng: Rng,
    lanes: BTreeMap<u32, LaneModel>,
    /// Ended runs that are not in a report yet, with what it has to say.
    unreported: BTreeMap<RunId, Outcome>,
    reported: BTreeSet<RunId>,
    /// Per run: when it was interrupted.
    interrupted: BTreeMap<RunId, u64>,
    killed: BTreeSet<RunId>,
    heard_ms: u64,
    seq: u64,
    acked: u64,
    unacked: VecDeque<u64>,
    /// Share of starts that end at once.
    sync_percent: u64,
    listening: Listening,
    exit: bool,
}

/// What is said of listening to the one job, and what the shell makes of it.
#[derive(Default)]
struct Listening {
    /// The latest session, and the room that it was given so far; none: nobody listens.
    session: u64,
    given: Option<u32>,
    /// What was sent in it.
    sent: u32,
    /// The room that the shell knows of.
    ears: Option<(u64, u32)>,
}

const JOB: JobId = JobId(3);

impl World {
    fn new(seed: u64, policy: OnServerLost, sync_percent: u64) -> Self {
        Self {
            rig: Rig::up_with(|config| config.on_server_lost = policy),
            policy,
            rng: Rng::new(seed),
            lanes: BTreeMap::new(),
            unreported: BTreeMap::new(),
            reported: BTreeSet::new(),
            interrupted: BTreeMap::new(),
            killed: BTreeSet::new(),
            heard_ms: 0,
            seq: 0,
            acked: 0,
            unacked: VecDeque::new(),
            sync_percent,
            listening: Listening::default(),
            exit: false,
        }
    }

    fn tell(&mut self, message: ToWorker) {
        self.heard_ms = self.rig.now_ms;
        self.learn(&message);
        self.rig.node.handle_input(self.rig.now(), WorkerInput::Messages(vec![message]));
        self.drain();
    }

    /// What the message means by the rules.
    fn learn(&mut self, message: &ToWorker) {
        match message {
            ToWorker::Open(open) if !self.lanes.contains_key(&open.grant.n) => {
                self.lanes.insert(open.grant.n, LaneModel::default());
                self.give(open.grant.n, &open.work);
            }
            ToWorker::Extend { grant, work } => self.give(grant.n, work),
            ToWorker::GoOn { grant } => {
                if let Some(lane) = self.lanes.get_mut(&grant.n) {
                    lane.holds = false;
                }
            }
            ToWorker::Close { grant } => {
                if let Some(lane) = self.lanes.get_mut(&grant.n) {
                    lane.waiting.clear();
                    lane.closing = true;
                    lane.closed |= lane.running.is_none();
                }
            }
            ToWorker::Kill { grant, task } if self.runs(grant.n, task.0) => {
                self.killed.insert(RunId { task: *task, grant: *grant });
            }
            _ => {}
        }
    }

    fn give(&mut self, n: u32, work: &[Work]) {
        let Some(lane) = self.lanes.get_mut(&n).filter(|lane| !lane.closing) else { return };
        for work in work {
            let total: u64 = work.runs.iter().map(|run| u64::from(run.numbers.count)).sum();
            let sound = work.submit == SubmitId(1) && (work.parts.is_empty() || work.parts.len() == total);
            for run in &work.runs {
                let Some(end) = run.first.0.checked_add(u64::from(run.numbers.count)) else { continue };
                for task in run.first.0..end {
                    let number = u64::from(run.numbers.start) + (task - run.first.0) * u64::from(run.numbers.step);
                    if !lane.begun.contains(&task) && lane.waiting.iter().all(|(other, _)| *other != task) {
                        let number = u32::try_from(number).ok().filter(|_| sound);
                        lane.waiting.push_back((task, number));
                    }
                }
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.rig.node.poll_output() {
            assert!(!self.exit, "after the exit: {output:?}");
            match output {
                WorkerOutput::Start(order) => self.started(order.run, order.number.0),
                WorkerOutput::Stop { run, how } => self.stopped(run, how),
                WorkerOutput::Send(messages) => messages.into_iter().for_each(|message| self.said(message)),
                WorkerOutput::Listen { job, session, credit } => self.listen(job, session, credit),
                WorkerOutput::Exit(_) => self.exit = true,
                WorkerOutput::Connect | WorkerOutput::Disconnect => panic!("it does not come back"),
            }
        }
    }

    fn started(&mut self, run: RunId, number: u32) {
        assert!(self.rig.now_ms < self.heard_ms + HEARTBEAT_MS, "{run}: the link is silent");
        let lane = self.lanes.get_mut(&run.grant.n).expect("a known lane");
        assert!(!lane.holds && !lane.closing, "{run}: holds or closes");
        assert_eq!(lane.running, None, "{run}: two at a time");
        assert_eq!(lane.waiting.pop_front(), Some((run.task.0, Some(number))), "{run}: out of order");
        assert!(lane.begun.insert(run.task.0), "{run}: twice");
        lane.running = Some(run.task.0);
        if self.rng.chance(self.sync_percent) {
            self.end(run);
        }
    }

    fn stopped(&mut self, run: RunId, how: StopHow) {
        assert_eq!(self.lanes[&run.grant.n].running, Some(run.task.0), "{run}: does not run");
        match how {
            StopHow::Interrupt => {
                assert_eq!(self.interrupted.insert(run, self.rig.now_ms), None, "{run}: twice");
            }
            StopHow::Kill => assert!(self.interrupted[&run] + 1_000 <= self.rig.now_ms, "{run}: no grace"),
            StopHow::Leave => assert!(self.rig_leaves(), "{run}: cut off"),
        }
    }

    /// After the exit no timeout is wanted.
    fn rig_leaves(&self) -> bool {
        self.rig.node.poll_timeout().is_none()
    }

    /// Ends a run and does not drain.
    fn end(&mut self, run: RunId) {
        let seen = match self.rng.below(8) {
            0 => failed(),
            1 => Outcome::Killed,
            _ => Outcome::Finished,
        };
        let told = if self.killed.contains(&run) {
            Outcome::Killed
        } else if self.interrupted.contains_key(&run) {
            Outcome::failed_of(FailCause::TimeLimit, LIMIT_REACHED)
        } else {
            seen.clone()
        };
        let lane = self.lanes.get_mut(&run.grant.n).expect("a known lane");
        lane.running = None;
        lane.holds |= told != Outcome::Finished;
        lane.closed |= lane.closing;
        assert_eq!(self.unreported.insert(run, told), None);
        self.rig.node.handle_input(self.rig.now(), WorkerInput::Ended { run, outcome: seen });
    }

    fn said(&mut self, message: FromWorker) {
        match message {
            FromWorker::Report(report) => self.report(report),
            FromWorker::Recalled { grant, n, tasks } => {
                let back: Vec<u64> = tasks.iter().flat_map(|range| range.iter()).map(|task| task.0).collect();
                let Some(lane) = self.lanes.get_mut(&grant.n) else { return assert_eq!(back, []) };
                if lane.closed {
                    return assert_eq!(back, []);
                }
                assert!(lane.recalls < n, "answered twice");
                lane.recalls = n;
                assert!(back.iter().all(|task| !lane.begun.contains(task)), "it has started");
                let before = lane.waiting.len();
                lane.waiting.retain(|(task, _)| !back.contains(task));
                assert_eq!(lane.waiting.len() + back.len(), before, "each was there");
                let running = lane.running.map(|task| run(grant.n, task));
                assert!(running.is_none_or(|run| !self.unreported.contains_key(&run)), "reported before");
            }
            FromWorker::Hello(_) | FromWorker::Heartbeat => {}
            FromWorker::Leaving { .. } | FromWorker::Resume(_) => panic!("no limit is set, nor does it come back"),
            FromWorker::Notify { .. } | FromWorker::Overview(_) => panic!("nobody said a word"),
            FromWorker::Output(output) => {
                let listening = &mut self.listening;
                listening.sent += 1;
                assert_eq!(output.session, listening.session);
                assert!(listening.given.is_some_and(|given| listening.sent <= given), "more than there is room for");
            }
        }
    }

    fn listen(&mut self, job: JobId, session: u64, credit: Option<u32>) {
        assert_eq!(job, JOB);
        let ears = &mut self.listening.ears;
        *ears = credit.map(|credit| match ears {
            Some((known, sum)) if *known == session => (session, *sum + credit),
            _ => (session, credit),
        });
    }

    /// Somebody listens anew, goes, or has taken something; or something is printed.
    fn some_listening(&mut self) {
        let (session, is_listening) = (self.listening.session, self.listening.given.is_some());
        match self.rng.below(6) {
            0 if is_listening => {
                self.listening.given = None;
                self.tell(ToWorker::Unlisten { job: JOB, session });
                assert_eq!(self.listening.ears, None);
            }
            1 if is_listening => {
                let room = self.listening.sent;
                self.listening.given = self.listening.given.map(|given| given.max(room + 8));
                let credit = self.listening.given.unwrap_or(0) - room;
                let known = self.listening.ears.map_or(0, |(_, credit)| credit);
                self.tell(ToWorker::Listen { job: JOB, session, credit: credit.saturating_sub(known) });
            }
            0 | 1 => {
                self.listening.session += 1;
                (self.listening.given, self.listening.sent) = (Some(8), 0);
                let session = self.listening.session;
                self.tell(ToWorker::Listen { job: JOB, session, credit: 8 });
                assert_eq!(self.listening.ears, Some((session, 8)), "nothing is left of the session before");
            }
            2 => self.print(session.saturating_sub(1), false),
            _ => {
                let Some((session, credit @ 1..)) = self.listening.ears else { return };
                self.listening.ears = Some((session, credit - 1));
                self.print(session, true);
            }
        }
    }

    /// With or without room that was taken for it.
    fn print(&mut self, session: u64, has_room: bool) {
        let running = self.running();
        let run = match &running[..] {
            [] => run(1, self.rng.below(TASKS)),
            some if self.rng.chance(80) => *self.rng.pick(some),
            _ => run(1, self.rng.below(TASKS)),
        };
        let is_heard = has_room && running.contains(&run);
        let (sent, room) = (self.listening.sent, self.listening.ears);
        let output = RunOutput { run, session, channel: Channel::Stdout, offset: 0, data: b"x"[..].into() };
        self.rig.node.handle_input(self.rig.now(), WorkerInput::Printed { job: JOB, output });
        self.drain();
        assert_eq!(self.listening.sent, sent + u32::from(is_heard), "{run}: what there is room for is heard");
        let back = room.map(|(session, credit)| (session, credit + u32::from(has_room && !is_heard)));
        assert_eq!(self.listening.ears, back, "room that is not used is there again");
    }

    fn report(&mut self, report: Report) {
        self.seq += 1;
        assert_eq!(report.seq, self.seq, "no gap");
        let mut ends = 0;
        for news in report.lanes {
            let n = news.grant.n;
            assert!(!news.ended.is_empty() || news.started.is_some(), "no news");
            for end in news.ended {
                ends += 1;
                let run = RunId { task: end.task, grant: news.grant };
                assert!(self.reported.insert(run), "{run}: reported twice");
                match self.unreported.remove(&run) {
                    Some(told) => assert_eq!(end.outcome, told, "{run}"),
                    None => self.impossible(run, end.outcome),
                }
            }
            if let Some((task, _)) = news.started {
                assert_eq!(self.lanes[&n].running, Some(task.0), "what runs");
            }
        }
        self.unacked.push_back(ends);
    }

    fn impossible(&mut self, run: RunId, outcome: Outcome) {
        assert!(matches!(outcome, Outcome::Failed(_)), "{run}");
        let lane = self.lanes.get_mut(&run.grant.n).expect("a known lane");
        assert_eq!(lane.waiting.pop_front(), Some((run.task.0, None)), "{run}: could have run");
        assert!(lane.begun.insert(run.task.0), "{run}: twice");
        lane.holds = true;
    }

    fn ack(&mut self, seq: u64) {
        if seq <= self.seq {
            while self.acked < seq {
                self.acked += 1;
                self.unacked.pop_front();
            }
        }
        self.tell(ToWorker::Ack { seq });
    }

    fn runs(&self, n: u32, task: u64) -> bool {
        self.lanes.get(&n).is_some_and(|lane| lane.running == Some(task))
    }

    fn running(&self) -> Vec<RunId> {
        self.lanes.iter().filter_map(|(n, lane)| Some(run(*n, lane.running?))).collect()
    }

    fn end_one(&mut self) {
        let running = self.running();
        if !running.is_empty() {
            let run = *self.rng.pick(&running);
            self.end(run);
            self.drain();
        }
    }

    fn some_work(&mut self) -> Vec<Work> {
        let count = self.rng.below(3);
        (0..count).map(|_| self.one_work()).collect()
    }

    fn one_work(&mut self) -> Work {
        let mut some = work(self.rng.below(TASKS), self.rng.below(8) as u32);
        if self.rng.chance(30) {
            let numbers = idlist::Run { start: 7, count: self.rng.below(4) as u32, step: 2 };
            some.runs.push(WorkRun { first: Ordinal(self.rng.below(TASKS)), numbers });
        }
        match self.rng.below(12) {
            0 => some.submit = SubmitId(99),
            1 => some.parts = Parts::new((0..self.rng.below(9)).map(|i| [i as u8])).unwrap(),
            2 => some.runs[0].numbers.start = u32::MAX - 1,
            3 => some.runs[0].first = Ordinal(u64::MAX - self.rng.below(3)),
            4 => some.runs[0].numbers.step = u32::MAX,
            5 | 6 => some.time_limit = Some(Span::millis(self.rng.below(3_000))),
            _ => {}
        }
        some
    }

    fn some_message(&mut self) -> ToWorker {
        let n = 1 + self.rng.below(GRANTS) as u32;
        let task = Ordinal(self.rng.below(TASKS));
        match self.rng.below(20) {
            0..4 => ToWorker::Open(Box::new(opened(n, self.some_work()))),
            4..8 => ToWorker::Extend { grant: grant(n), work: self.some_work() },
            8..11 => {
                let fresh = self.lanes.get(&n).map_or(1, |lane| lane.recalls + 1);
                let recall = if self.rng.chance(80) { fresh } else { self.rng.below(9) as u32 };
                let tasks = (0..self.rng.below(4)).map(|_| range(self.rng.below(TASKS), self.rng.below(20)));
                let mut tasks: Vec<_> = tasks.collect();
                if self.rng.chance(10) {
                    tasks.push(range(u64::MAX - self.rng.below(2), u64::MAX));
                }
                ToWorker::Recall { grant: grant(n), n: recall, tasks }
            }
            11 => {
                if self.rng.chance(30) {
                    close(n)
                } else {
                    ToWorker::Heartbeat
                }
            }
            12..14 => match self.running().first() {
                Some(run) if self.rng.chance(70) => ToWorker::Kill { grant: run.grant, task: run.task },
                _ => ToWorker::Kill { grant: grant(n), task },
            },
            14..18 => go_on(n),
            18 => ToWorker::DropSubmit(SubmitId(self.rng.below(9) + 2)),
            _ => welcome(),
        }
    }

    fn step(&mut self) {
        match self.rng.below(13) {
            12 => self.some_listening(),
            0..6 => {
                let message = self.some_message();
                let doubled = self.rng.chance(20);
                if doubled {
                    self.tell(message.clone());
                }
                self.tell(message);
            }
            6..9 => self.end_one(),
            9 => {
                let seq = if self.rng.chance(10) { self.rng.next_u64() } else { self.rng.range(0, self.seq + 1) };
                self.ack(seq);
            }
            10 => {
                self.rig.now_ms += self.rng.below(3_000);
                self.rig.node.handle_timeout(self.rig.now());
                self.drain();
            }
            _ => {
                let run = run(1 + self.rng.below(GRANTS) as u32, self.rng.below(TASKS));
                if self.running().iter().all(|running| *running != run) {
                    let stale = WorkerInput::Ended { run, outcome: failed() };
                    self.rig.node.handle_input(self.rig.now(), stale);
                    self.drain();
                }
            }
        }
    }

    /// Everything ends well from now on; nothing may be left.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            for n in 1..=GRANTS as u32 {
                self.tell(go_on(n));
            }
            self.ack(self.seq);
            for run in self.running() {
                self.end(run);
                self.drain();
            }
            if self.running().is_empty() && self.lanes.values().all(|lane| lane.waiting.is_empty()) {
                break;
            }
        }
        assert_eq!(self.unreported, BTreeMap::new(), "all ends are reported");
        for (n, lane) in &self.lanes {
            assert!(lane.waiting.is_empty() && lane.running.is_none(), "lane {n} is done");
            for task in &lane.begun {
                assert!(self.reported.contains(&run(*n, *task)), "{n}/{task}: lost");
            }
        }
        for n in 1..=GRANTS as u32 {
            // The model knows of nothing that could come back, and says so if something does.
            self.tell(recall(n, 1_000_000, 0, u64::MAX));
        }
    }

    fn leave(&mut self, input: WorkerInput) {
        let running = self.running().len();
        let waits = matches!(input, WorkerInput::LinkDown) && self.policy == OnServerLost::FinishRunning;
        self.rig.node.handle_input(self.rig.now(), input);
        self.drain();
        assert_eq!(self.exit, !waits || running == 0);
        if waits {
            assert_eq!(self.listening.ears, None, "nobody is waited for who cannot come back");
        }
        for run in self.running() {
            self.end(run);
            self.drain();
        }
        assert!(self.exit, "nothing is left to wait for");
        self.rig.node.handle_input(self.rig.now(), WorkerInput::LinkUp);
        self.rig.pass(1_000_000);
        self.drain();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(seed: u64, steps in 1usize..400, sync in 0u64..3) {
        let mut world = World::new(seed, OnServerLost::Stop, sync * 50);
        for _ in 0..steps {
            world.step();
        }
        world.settle();
    }

    #[test]
    fn it_can_leave_at_any_time(seed: u64, steps in 1usize..100, down: bool, finish: bool) {
        let policy = if finish { OnServerLost::FinishRunning } else { OnServerLost::Stop };
        let mut world = World::new(seed, policy, 30);
        for _ in 0..steps {
            world.step();
        }
        world.leave(if down { WorkerInput::LinkDown } else { WorkerInput::Interrupted });
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(seed: u64) {
        let run = || {
            let mut world = World::new(seed, OnServerLost::Stop, 30);
            (0..100).for_each(|_| world.step());
            format!("{:?}", world.rig.node)
        };
        prop_assert_eq!(run(), run());
    }
}
