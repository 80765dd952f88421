//! What must hold after each step.

use std::sync::Arc;

use hq_core::{
    Allocation, Amount, CrashLimit, Epoch, Fact, FromWorker, GrantId, GrantedResource, JobId, Open, Ordinal,
    OrdinalRange, Piece, Profile, Record, Request, ResourceDef, ResourceEntry, ResourceName, Span, Tick, ToWorker,
    WorkerConfig, WorkerId, WorkerResources,
};
use hq_sim::{
    Trace,
    invariants::{
        CanceledStay, Conservation, CrashCounts, Dependencies, FitsIsAllocate, Freshness, Gangs, GoneWorkers,
        Idempotence, LegalTransitions, Locality, NoOversubscription, OnePlace, Replay, StaleMessages, TimeLeft, What,
        ZeroAndHuge, same_traces,
    },
};

use crate::bench::{Bench, canceled, cpu, finished, grant, lost, one_cpu, opened};

#[test]
fn i01_an_index_twice() {
    let mut bench = Bench::new(NoOversubscription::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(opened(2, &[1], cpu(0), 2)).contains("index 0 of cpus"));
    assert!(bench.bad(opened(2, &[1], cpu(2), 2)).contains("index 2 of cpus"));
    bench.good(opened(2, &[1], cpu(1), 2));
}

#[test]
fn i02_an_index_lost() {
    let mut bench = Bench::new(Conservation::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad_for_the_core(opened(2, &[1], cpu(1), 2)).contains("cpus of worker 1"));
    let mut bench = Bench::new(Conservation::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    let core = std::mem::take(&mut bench.core);
    assert!(bench.see(What::Over(&core)).unwrap_err().contains("open though all"));
}

#[test]
fn i03_a_task_in_two_places() {
    let mut bench = Bench::new(OnePlace::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(opened(2, &[2], cpu(0), 0)).contains("while grant 1.1 has it"));
    assert!(bench.bad(opened(1, &[2], cpu(0), 2)).contains("opened twice"));
    assert!(bench.bad(opened(2, &[2, 2], Allocation::default(), 2)).contains("given to workers"));
    let started = Fact::TaskStarted { grant: grant(1), task: Ordinal(0), start: Tick(10) };
    assert!(bench.bad_for_the_core(started).contains("runs on"));
}

#[test]
fn i04_a_second_end() {
    let mut bench = Bench::new(LegalTransitions::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(finished(2, 0)).contains("held by"));
    bench.good(finished(1, 0));
    assert!(bench.bad(canceled(0)).contains("while it is Finished"));
    assert!(bench.bad(opened(2, &[1], cpu(0), 0)).contains("is granted while it is Finished"));
    assert!(bench.bad(Fact::JobForgotten { job: JobId(1) }).contains("is forgotten with"));
    assert!(bench.bad_for_the_core(canceled(2)).contains("the core counts"));
}

#[test]
fn i05_a_fact_from_the_past() {
    let mut bench = Bench::new(StaleMessages::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::Old)).unwrap();
    assert!(bench.bad(finished(1, 0)).contains("from the past"));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::New)).unwrap();
    let old = GrantId { epoch: Epoch(0), n: 1 };
    assert!(bench.bad(Fact::GrantClosed { grant: old }).contains("in boot 1"));
    bench.good(finished(1, 0));
}

#[test]
fn i06_room_that_is_none() {
    let gpu = Request::new(vec![ResourceEntry::parse("gpus=1").unwrap()]).unwrap();
    let mut bench = Bench::new(FitsIsAllocate::default(), gpu);
    // The core's worker 3 has a gpu that the books' worker 3 has not.
    let mut config = WorkerConfig::new("w", WorkerResources::cpus(1).unwrap());
    let record = |config: &WorkerConfig| Record {
        at: Tick(10),
        fact: Fact::WorkerJoined { worker: WorkerId(3), config: Arc::new(config.clone()) },
    };
    bench.model.apply(&record(&config));
    let defs = vec![ResourceDef::parse_cpus("1").unwrap(), ResourceDef::parse("gpus=[0]").unwrap()];
    config.resources = WorkerResources::new(defs, vec![]).unwrap();
    bench.core.replay(&record(&config)).unwrap();
    let core = std::mem::take(&mut bench.core);
    let seen: Result<(), String> = (0..20).try_for_each(|_| bench.see(What::Settled(&core)));
    assert!(seen.unwrap_err().contains("no room and something is allocated"));
}

#[test]
fn i07_too_early_and_never() {
    let mut bench = Bench::new(Dependencies::default(), one_cpu());
    assert!(bench.bad(opened(1, &[1], cpu(0), 1)).contains("before all it waits for"));
    let aborted = Fact::TasksAborted { tasks: vec![OrdinalRange::one(Ordinal(2))] };
    assert!(bench.bad(aborted).contains("could still run"));
    let record = Record { at: Tick(10), fact: canceled(0) };
    bench.see(What::Fact(&record)).unwrap();
    bench.model.apply(&record);
    let core = std::mem::take(&mut bench.core);
    assert!(bench.see(What::Settled(&core)).unwrap_err().contains("task 1 can never run"));
}

#[test]
fn i08_too_little_time() {
    let mut bench = Bench::new(TimeLeft::new(Span::ZERO), one_cpu().with_min_time(Span::secs(6)));
    assert!(bench.bad(opened(1, &[2], cpu(0), 0)).contains("task 0 needs 6s"));
    bench.good(opened(1, &[1], cpu(0), 0));
}

#[test]
fn i09_half_a_gang() {
    let mut bench = Bench::new(Gangs::default(), Request::gang(2));
    bench.join(3, |config| config.group = "other".into());
    let all = Allocation::default;
    assert!(bench.bad(opened(1, &[1], all(), 0)).contains("of 2 nodes"));
    assert!(bench.bad(opened(1, &[1, 3], all(), 0)).contains("spread over groups"));
    bench.good(opened(1, &[1, 2], all(), 0));
    assert!(bench.bad(opened(2, &[2, 1], all(), 2)).contains("with a gang"));
    assert!(bench.bad_for_the_core(lost(1)).contains("has lost its main worker"));
}

/// Indices of the two groups of two of worker 3.
fn in_groups(names: &[(&str, &[u32])]) -> Allocation {
    let piece = |index: &u32| Piece { index: *index, amount: Amount::ONE };
    let granted = names.iter().map(|(name, indices)| GrantedResource {
        resource: ResourceName::new(name).unwrap(),
        amount: Amount::units(indices.len() as u32),
        pieces: indices.iter().map(piece).collect(),
    });
    Allocation(granted.collect())
}

#[test]
fn i10_spread_without_need() {
    let requests = ["cpus=2 compact!", "cpus=2", "cpus=2 scatter"];
    let request = |text| Request::new(vec![ResourceEntry::parse(text).unwrap()]).unwrap();
    let of_groups = |config: &mut WorkerConfig| {
        config.resources = WorkerResources::new(vec![ResourceDef::parse_cpus("2x2").unwrap()], vec![]).unwrap();
    };
    for (text, fails) in requests.into_iter().zip([true, true, false]) {
        let mut bench = Bench::new(Locality::default(), request(text));
        bench.join(3, of_groups);
        if fails {
            bench.good(opened(1, &[3], in_groups(&[("cpus", &[0, 1])]), 0));
            assert!(bench.bad_for_the_core(opened(2, &[3], in_groups(&[("cpus", &[1, 2])]), 2)).contains("are enough"));
        } else {
            bench.good(opened(2, &[3], in_groups(&[("cpus", &[0, 2])]), 2));
        }
    }
    // The fewest that have enough now is not always the fewest there are: soft ones take them, strict ones wait.
    for (text, fails) in requests.into_iter().zip([true, false, false]) {
        let mut bench =
            Bench::of(Locality::default(), vec![Profile::new(request(text)), Profile::new(one_cpu())], &[0, 0, 1, 1]);
        bench.join(3, of_groups);
        bench.good(opened(1, &[3], in_groups(&[("cpus", &[0])]), 2));
        bench.good(opened(2, &[3], in_groups(&[("cpus", &[2])]), 3));
        let last = opened(3, &[3], in_groups(&[("cpus", &[1, 3])]), 0);
        if fails {
            assert!(bench.bad_for_the_core(last).contains("are enough"));
        } else {
            bench.good(last);
        }
    }
}

#[test]
fn i10_far_from_what_it_is_coupled_to() {
    let entries = ["cpus=1", "gpus=1"].map(|text| ResourceEntry::parse(text).unwrap());
    let mut bench = Bench::new(Locality::default(), Request::new(entries.to_vec()).unwrap());
    bench.join(3, |config| {
        let defs = vec![ResourceDef::parse_cpus("2x2").unwrap(), ResourceDef::parse("gpus=[[a,b],[c,d]]").unwrap()];
        let coupling = [0, 1].map(|group| hq_core::CouplingItem {
            resource1_idx: 0,
            group1_idx: group,
            resource2_idx: 1,
            group2_idx: group,
            weight: 256,
        });
        config.resources = WorkerResources::new(defs, coupling.to_vec()).unwrap();
    });
    bench.good(opened(1, &[3], in_groups(&[("cpus", &[0]), ("gpus", &[1])]), 0));
    let far = opened(2, &[3], in_groups(&[("cpus", &[1]), ("gpus", &[2])]), 2);
    assert!(bench.bad_for_the_core(far).contains("are near"));
}

#[test]
fn i11_more_than_was_asked() {
    let mut bench = Bench::new(ZeroAndHuge, one_cpu());
    assert!(bench.bad(opened(1, &[1], in_groups(&[("cpus", &[0, 1])]), 0)).contains("is granted for"));
    assert!(bench.bad(opened(1, &[1], Allocation::default(), 0)).contains("gets"));
    bench.good(opened(1, &[1], cpu(0), 0));
    let mut bench = Bench::new(ZeroAndHuge, Request::new(vec![]).unwrap());
    assert!(bench.bad(opened(1, &[1], cpu(0), 0)).contains("gets"), "nothing was asked for");
    bench.good(opened(1, &[1], Allocation::default(), 0));
}

#[test]
fn i13_a_crash_too_many_and_one_too_few() {
    let failed = |task| Fact::TaskFailed { grant: None, task: Ordinal(task), start: None, error: "crashes".into() };
    let profile = |crash_limit| Profile { crash_limit, ..Profile::new(one_cpu()) };
    for (limit, why, fails) in [
        (CrashLimit::Limit(1), hq_core::LossReason::ConnectionLost, true),
        (CrashLimit::Limit(1), hq_core::LossReason::Stopped, false),
        (CrashLimit::Limit(2), hq_core::LossReason::HeartbeatLost, false),
        (CrashLimit::Unlimited, hq_core::LossReason::ConnectionLost, false),
        (CrashLimit::NeverRestart, hq_core::LossReason::Stopped, true),
    ] {
        let mut bench = Bench::of(CrashCounts::default(), vec![profile(limit)], &[]);
        bench.good(opened(1, &[1], cpu(0), 0));
        assert!(bench.bad(failed(0)).contains("after 0 crashes"));
        let loss = Fact::WorkerLost { worker: WorkerId(1), reason: why };
        if fails {
            assert!(bench.bad_for_the_core(loss).contains("goes on"), "{limit:?} {why:?}");
        } else {
            bench.good(loss);
            assert!(bench.bad(failed(0)).contains("fails after"), "{limit:?} {why:?}");
        }
    }
}

#[test]
fn i14_another_state() {
    let mut bench = Bench::new(Replay::default(), one_cpu());
    assert!(
        bench
            .bad_for_the_core(Fact::JobCanceled { job: JobId(1), reason: Some("why".into()) })
            .contains("another state")
    );
    assert!(bench.bad(lost(9)).contains("cannot be replayed"));
}

#[test]
fn i15_work_for_the_gone() {
    let mut bench = Bench::new(GoneWorkers::new(Span::ZERO), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(lost(9)).contains("was not there"));
    bench.good(lost(2));
    assert!(bench.bad(opened(2, &[2], cpu(0), 2)).contains("which is gone"));
    let open = Open {
        grant: grant(1),
        request: Arc::new(one_cpu()),
        variant: 0,
        variants: 1,
        allocation: cpu(0).into(),
        hosts: vec![],
        work: vec![],
        not_after: None,
    };
    let message = ToWorker::Open(Box::new(open));
    bench.see(What::Told(WorkerId(1), &message)).unwrap();
    assert!(bench.see(What::Told(WorkerId(2), &message)).unwrap_err().contains("told to work"));
    assert!(bench.bad_for_the_core(lost(1)).contains("has a runtime"));
}

#[test]
fn i24_two_traces() {
    let trace = |lines: &[&str]| {
        let mut trace = Trace::new(1);
        lines.iter().for_each(|line| trace.push(format_args!("{line}")));
        trace
    };
    same_traces(&trace(&["a", "b"]), &trace(&["a", "b"])).unwrap();
    for (other, part) in
        [(&["a", "c"][..], "is `b` and `c`"), (&["x", "b"], "of different content"), (&["b"], "different content")]
    {
        assert!(same_traces(&trace(&["a", "b"]), &trace(other)).unwrap_err().contains(part), "{other:?}");
    }
}

#[test]
fn i29_a_cancelled_task_comes_back() {
    let mut bench = Bench::new(CanceledStay::default(), one_cpu());
    bench.good(canceled(2));
    assert!(bench.bad(opened(1, &[1], cpu(0), 2)).contains("task 2 is granted after it was cancelled"));
    bench.good(opened(1, &[1], cpu(0), 0));
}

#[test]
fn i30_a_message_counts_twice() {
    let mut bench = Bench::new(Idempotence::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::Doubled)).unwrap();
    assert!(bench.bad(finished(1, 0)).contains("heard before"));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::New)).unwrap();
    bench.good(finished(1, 0));
}
