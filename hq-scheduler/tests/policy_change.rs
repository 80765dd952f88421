//! Another policy while tasks wait and run: it decides at once, and nothing of the one before stays.

mod common;

use common::{array, node};
use hq_core::{Fact, LaneReport, Ordinal, Owner, Profile, Record, Request, Span, Submit, Tick, ToWorker};
use hq_scheduler::{
    Action, News, Scheduler,
    policy::{Order, PassRule, QueueView, Rank},
};

/// One worker of four cpus, on which three are in use for an estimated hour.
struct Bench {
    core: Scheduler,
    facts: Vec<Record>,
}

impl Bench {
    fn new(order: &str) -> Self {
        let mut bench = Self { core: Scheduler::new(), facts: vec![] };
        bench.core.boot(Tick(0), "uid".into(), 0, "1".into());
        bench.core.set_policy(Tick(0), order, "pack").unwrap();
        bench.core.join(Tick(0), node(4)).unwrap();
        assert_eq!(bench.started(Tick(0)), []);
        bench.submit(Tick(1), 3, 3_600);
        assert_eq!(bench.started(Tick(1)), [0]);
        bench
    }

    fn submit(&mut self, now: Tick, cpus: u32, estimate: u64) {
        let limit = Some(Span::secs(estimate));
        let profile = Profile { time_limit: limit, ..Profile::new(Request::cpus(cpus).unwrap()) };
        let submit = array(1, profile);
        self.core.submit(now, Submit { owner: Owner::user("ann"), ..submit }).unwrap();
    }

    /// What is started now; each says so.
    fn started(&mut self, now: Tick) -> Vec<u64> {
        let mut started = vec![];
        while let Some(action) = self.core.poll_action(now) {
            match action {
                Action::Record(fact) => self.facts.push(Record { at: now, fact }),
                Action::Send { worker, message: ToWorker::Open(open) } => {
                    let task: Ordinal = open.work[0].runs[0].first;
                    started.push(task.0);
                    let lane = LaneReport { grant: open.grant, ended: vec![], started: Some((task, Span(0))) };
                    self.core.handle_event(now, News::Report { worker, lane });
                }
                _ => {}
            }
        }
        started
    }
}

/// The first that waits needs all four cpus, the next one for two hours: only `sjf` and `fair-share` let it pass.
#[test]
fn what_the_order_before_held_is_free() {
    let passes = |order: &str| matches!(order, "sjf" | "fair-share" | "fair-share-projects");
    let known = Scheduler::new();
    for before in known.orders() {
        for after in known.orders() {
            let mut bench = Bench::new(before);
            bench.submit(Tick(2), 4, 60);
            bench.submit(Tick(2), 1, 7_200);
            // A blocked task of one level with others does not hold them up.
            let held = !passes(before) && before != "priority";
            assert_eq!(bench.started(Tick(2)), if held { vec![] } else { vec![2] }, "{before}");
            if !held {
                continue;
            }
            bench.core.set_policy(Tick(4), after, "least-loaded").unwrap();
            let free = passes(after) || after == "priority";
            assert_eq!(bench.started(Tick(4)), if free { vec![2] } else { vec![] }, "{before}, then {after}");
            let fact = Fact::PolicyChanged { order: after.to_owned(), placement: "least-loaded".to_owned() };
            assert!(bench.facts.iter().any(|record| record.fact == fact), "it is told to the journal");
        }
    }
}

/// The journal says who decides.
#[test]
fn the_last_policy_decides_after_a_restart() {
    let mut bench = Bench::new("fcfs");
    bench.submit(Tick(2), 4, 60);
    bench.submit(Tick(2), 1, 7_200);
    bench.core.set_policy(Tick(2), "sjf", "least-loaded").unwrap();
    assert_eq!(bench.started(Tick(2)), [2]);
    let mut again = Scheduler::new();
    for record in &bench.facts {
        again.replay(record).unwrap();
    }
    assert!(again.same_state(&bench.core));
    again.boot(Tick(10), "uid".into(), 0, "1".into());
    again.join(Tick(10), node(4)).unwrap();
    let first = std::iter::from_fn(|| again.poll_action(Tick(10))).find_map(|action| match action {
        Action::Record(Fact::GrantOpened { tasks, .. }) => Some(tasks[0].start),
        _ => None,
    });
    // The shortest, not the first.
    assert_eq!(first, Some(Ordinal(1)));
}

/// An order of one name that says other things from one time to the next.
#[derive(Debug)]
struct Mine {
    /// What may pass what is blocked.
    passes: PassRule,
    /// Whether the last one goes first.
    backwards: bool,
}

impl Order for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        let head = queue.head.0 as i64;
        (if self.backwards { -head } else { head }, 0)
    }

    fn keeps_ranks(&self) -> bool {
        true
    }

    fn pass_rule(&self) -> PassRule {
        self.passes
    }
}

#[test]
fn an_order_that_takes_the_place_of_the_chosen_one_decides_at_once() {
    use PassRule::{Free, Gap, Strict};
    for (passes, backwards, starts) in
        [(Strict, false, false), (Gap, false, false), (Free, false, true), (Strict, true, true), (Gap, true, true)]
    {
        let mut bench = Bench::new("fcfs");
        bench.core.add_order(Box::new(Mine { passes: Strict, backwards: false }));
        bench.core.set_policy(Tick(2), "mine", "pack").unwrap();
        bench.submit(Tick(2), 4, 60);
        bench.submit(Tick(2), 1, 7_200);
        assert_eq!(bench.started(Tick(2)), []);
        bench.core.add_order(Box::new(Mine { passes, backwards }));
        assert_eq!(bench.started(Tick(3)), if starts { vec![2] } else { vec![] }, "{passes:?} {backwards}");
    }
}

#[test]
fn an_unknown_policy_is_refused_and_changes_nothing() {
    let mut bench = Bench::new("fcfs");
    let refusal = bench.core.set_policy(Tick(2), "fastest", "pack").unwrap_err().to_string();
    assert!(Scheduler::new().orders().all(|order| refusal.contains(order)), "{refusal}");
    bench.submit(Tick(2), 4, 60);
    bench.submit(Tick(2), 1, 7_200);
    assert_eq!(bench.started(Tick(3)), []);
}
