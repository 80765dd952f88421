//! Days of virtual time: what a bad day may cost, and how soon work goes on after it. And what is never asked for.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

mod autoscaling;
mod common;
#[expect(dead_code, reason = "only its language is used")]
mod text;

use autoscaling::Rig;
use hq_core::{Rng, Span, Tick};
use hq_scheduler::autoscale::Allocation;

const HOUR: u64 = 3600;
/// Submissions that fail in an hour at most, however a batch system behaves.
const FAILURES_PER_HOUR: u32 = 20;

fn at(seconds: u64) -> Tick {
    Tick(0).after(Span::secs(seconds))
}

/// All allocations begin, and end well after a time.
fn live(rig: &mut Rig) {
    let waiting = |a: &&Allocation| a.is_active() && a.here.is_empty();
    let all = rig.machine.book().queues().flat_map(|(_, queue)| queue.allocations.values());
    let waiting: Vec<String> = all.filter(waiting).filter_map(|a| a.id.clone()).collect();
    for id in waiting {
        rig.step(&format!("+{id}"));
        rig.step(&format!("{id}=running"));
    }
}

/// All workers go, as those do that have nothing to do; their allocations end with them, the others by word of the manager.
fn end_all(rig: &mut Rig) {
    let all = rig.machine.book().queues().flat_map(|(_, queue)| queue.allocations.values());
    let active: Vec<&Allocation> = all.filter(|a| a.is_active()).collect();
    let workers: Vec<u32> = active.iter().flat_map(|a| a.here.keys()).map(|worker| worker.0).collect();
    let ids: Vec<String> = active.iter().filter(|a| a.here.is_empty()).filter_map(|a| a.id.clone()).collect();
    for worker in workers {
        rig.step(&format!("-{worker}:idle"));
    }
    for id in ids {
        rig.step(&format!("{id}=ended"));
    }
}

#[test]
fn q2_a_day_of_flapping_commands_then_work_goes_on_within_five_minutes() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let mut rig = Rig::new("b2k1");
        rig.step("1~1x50");
        let mut hours = vec![0; 25];
        // Two of three seeds never let anything through.
        let chance = [0, 0, 30][seed as usize % 3];
        for minute in 0..24 * 60 {
            // The answers flap faster than anybody asks; dry runs may well succeed.
            rig.step(if rng.chance(chance) { "fail:0" } else { "fail:4000000" });
            if seed % 3 == 1 {
                rig.step("lying");
            }
            let before = rig.refused;
            rig.go_to(at(minute * 60 + 30));
            live(&mut rig);
            rig.go_to(at(minute * 60 + 60));
            if minute % 7 == 0 {
                end_all(&mut rig);
            }
            hours[minute as usize / 60] += rig.refused - before;
        }
        let most = *hours.iter().max().unwrap();
        assert!(most <= FAILURES_PER_HOUR, "seed {seed}: {most} in an hour, {hours:?}");
        assert!(rig.refused >= 10, "seed {seed}: it goes on trying, {} failures", rig.refused);
        end_all(&mut rig);
        rig.step("honest");
        rig.step("fail:0");
        rig.take_sizes();
        let begin = 24 * HOUR;
        rig.go_to(at(begin + 300));
        assert_ne!(rig.take_sizes(), "-", "seed {seed}: nothing within five minutes; {hours:?}");
        assert_eq!(rig.step("!").as_deref(), Some("active"));
    }
}

#[test]
fn q4_workers_that_die_at_once_for_a_day_cost_little_and_the_queue_tries_again() {
    let mut rig = Rig::new("b4k1");
    rig.step("1x1000");
    for second in 0..24 * HOUR {
        rig.go_to(at(second));
        let all = rig.machine.book().queues().flat_map(|(_, queue)| queue.allocations.values());
        let queued: Vec<String> = all.filter(|a| a.is_active()).filter_map(|a| a.id.clone()).collect();
        for id in queued {
            let worker = rig.core.last_worker().map_or(0, |worker| worker.0) + 1;
            rig.step(&format!("+{id}"));
            rig.step(&format!("-{worker}:lost"));
        }
    }
    assert_eq!(rig.step("!").as_deref(), Some("allocations"));
    assert!((10..=40).contains(&rig.asked), "{} submissions in a day", rig.asked);
    rig.take_sizes();
    rig.go_to(at(25 * HOUR + 60));
    assert_eq!(rig.take_sizes(), "1", "one is tried, and the others wait for what becomes of it");
    live(&mut rig);
    rig.go_to(at(25 * HOUR + 600));
    assert_eq!(rig.take_sizes(), "1,1,1,1", "it does well");
}

#[test]
fn i21_and_i22_nothing_is_asked_for_that_no_task_could_use() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let cpus = 1 + rng.below(4);
        let (backlog, most) = (1 + rng.below(6), 1 + rng.below(4));
        let known = *rng.pick(&["k", "c"]);
        let life = *rng.pick(&["", "l100"]);
        let mut rig = Rig::new(&format!("b{backlog}m{most}{known}{cpus}{life}"));
        let mut useful = 0;
        for step in 0..rng.below(6) {
            let (wanted, count, time) = (1 + rng.below(6), 1 + rng.below(5), *rng.pick(&[0, 50, 200]));
            let gang = rng.chance(30);
            let task = if gang { format!("n{wanted}") } else { wanted.to_string() };
            rig.step(&format!("{task}~{time}x{count}"));
            let fits = if gang { wanted <= most } else { wanted <= cpus };
            if fits && (life.is_empty() || time <= 100) {
                useful += count * if gang { wanted } else { 1 };
            }
            rig.go_to(at(step * 7 + 7));
            let asked: u64 = rig.sizes.iter().map(|(_, size)| u64::from(*size)).sum();
            assert!(asked <= useful, "seed {seed}: {asked} workers for tasks that could use {useful}");
            assert_eq!(asked == 0, useful == 0, "seed {seed}");
        }
    }
}

/// What is asked for at a moment is done at it: nothing makes the carrier call again and again.
#[test]
fn a_timeout_that_was_handled_is_not_asked_for_again() {
    const STEPS: [&str; 20] = [
        "1x3", "n2", "fail:3", "fail:0", "unsure:2", "+a1*1", "+a2*1", "-1:lost", "-2:idle", "pause", "resume", "stop",
        "remove", "restart", "lying", "@+", "@+", "@+", "@+", "@+",
    ];
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut rig = Rig::new("b2k1 b1m2");
        for _ in 0..25 {
            let step = *rng.pick(&STEPS);
            // Only workers that came can go.
            let is_possible = match step {
                "-1:lost" => rig.core.last_worker().is_some_and(|worker| worker.0 >= 1),
                "-2:idle" => rig.core.last_worker().is_some_and(|worker| worker.0 >= 2),
                "pause" | "resume" | "remove" => {
                    rig.machine.book().queue(hq_core::QueueId(1)).is_some_and(|q| !q.is_closing)
                }
                _ => true,
            };
            if step == "@+" {
                let later = rig.now.after(Span::secs(*rng.pick(&[1, 30, 61, 3600])));
                rig.go_to(later);
                assert!(rig.calls < 2000, "seed {seed}: {} calls", rig.calls);
                rig.calls = 0;
            } else if is_possible {
                rig.step(step);
            }
        }
    }
}
