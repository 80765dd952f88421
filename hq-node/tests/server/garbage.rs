//! Whatever peers and shells do: no panic, no gap in the journal, nothing after the end.

use hq_core::{
    Blob, Call, ClientRequest, Epoch, FromWorker, GrantId, HeldGrant, IdList, JobId, JobSpec, JobState, JobTarget,
    LaneReport, LinkId, LossReason, OnServerLost, Ordinal, OrdinalRange, Outcome, Parts, Profile, Report, Request,
    RequestId, Resume, RunEnd, Selector, Seq, Span, Submit, TaskIds, TaskNumber, ToWorker, WorkerConfig, WorkerId,
    WorkerResources, idlist::Run,
};
use hq_node::{PeerRole, ServerInput};
use proptest::prelude::*;

use crate::kit::{Rig, config};

fn link() -> impl Strategy<Value = LinkId> {
    (0u64..5).prop_map(LinkId)
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..6, 1 => any::<u64>()]
}

fn grant() -> impl Strategy<Value = GrantId> {
    (0u32..3, 0u32..5).prop_map(|(epoch, n)| GrantId { epoch: Epoch(epoch), n })
}

fn ranges() -> impl Strategy<Value = Vec<OrdinalRange>> {
    prop::collection::vec((number(), number()).prop_map(|(start, len)| OrdinalRange::new(Ordinal(start), len)), 0..3)
}

fn reason() -> impl Strategy<Value = LossReason> {
    prop::sample::select(vec![
        LossReason::Stopped,
        LossReason::ConnectionLost,
        LossReason::IdleTimeout,
        LossReason::TimeLimitReached,
        LossReason::ServerEnded,
    ])
}

fn lane() -> impl Strategy<Value = LaneReport> {
    let outcome = prop::sample::select(vec![Outcome::Finished, Outcome::Failed("x".to_owned()), Outcome::Killed]);
    let end = (number(), number(), number(), outcome).prop_map(|(task, age, took, outcome)| RunEnd {
        task: Ordinal(task),
        age: Span(age),
        took: Span(took),
        outcome,
    });
    let started = prop::option::of((number().prop_map(Ordinal), number().prop_map(Span)));
    (grant(), prop::collection::vec(end, 0..3), started).prop_map(|(grant, ended, started)| LaneReport {
        grant,
        ended,
        started,
    })
}

fn from_worker() -> impl Strategy<Value = FromWorker> {
    let hello = (1u32..4, number()).prop_map(|(cpus, heartbeat)| {
        let mut config = WorkerConfig::new("w", WorkerResources::cpus(cpus).unwrap());
        config.heartbeat = if heartbeat < 3 { Span(heartbeat) } else { Span::secs(heartbeat) };
        config.time_limit = (heartbeat == 4).then_some(Span::secs(9));
        if heartbeat % 2 == 1 {
            config.on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) };
        }
        FromWorker::Hello(Box::new(config))
    });
    let held = (grant(), prop::option::of((number().prop_map(Ordinal), number().prop_map(Span))), ranges());
    let held = held.prop_map(|(grant, running, backlog)| HeldGrant { grant, running, backlog });
    let reports = prop::collection::vec((number(), prop::collection::vec(lane(), 0..3)), 0..3);
    let resume = (1u32..4, any::<bool>(), number(), prop::collection::vec(held, 0..4), reports);
    let resume = resume.prop_map(|(worker, is_true, acked, grants, reports)| {
        let reports = reports.into_iter().map(|(seq, lanes)| Report { seq, lanes }).collect();
        let (worker, token) = (WorkerId(worker), u64::from(is_true));
        FromWorker::Resume(Box::new(Resume { worker, epoch: Epoch(1), token, acked, reports, grants }))
    });
    let report = (number(), prop::collection::vec(lane(), 0..3));
    prop_oneof![
        3 => hello,
        6 => report.prop_map(|(seq, lanes)| FromWorker::Report(Report { seq, lanes })),
        2 => (grant(), 0u32..3, ranges()).prop_map(|(grant, n, tasks)| FromWorker::Recalled { grant, n, tasks }),
        2 => resume,
        1 => Just(FromWorker::Heartbeat),
        1 => reason().prop_map(|reason| FromWorker::Leaving { reason }),
    ]
}

fn selector() -> impl Strategy<Value = Selector> {
    let runs = prop::collection::vec((0u32..6, 0u32..4, 0u32..3), 0..3).prop_map(|runs| {
        let runs: Vec<Run> = runs.into_iter().map(|(start, count, step)| Run { start, count, step }).collect();
        Selector::Ids(IdList::from(runs))
    });
    prop_oneof![Just(Selector::Last), Just(Selector::All), runs, Just(Selector::Ids(IdList::range(0, u32::MAX)))]
}

fn submit() -> impl Strategy<Value = ClientRequest> {
    (0u32..5, 0u32..4, 0u16..2, any::<bool>()).prop_map(|(tasks, job, profile, parts)| {
        let target = if job == 0 { JobTarget::New(JobSpec::default()) } else { JobTarget::Attach(JobId(job)) };
        let request = Profile::new(Request::cpus(1).unwrap());
        let mut submit = Submit::array(target, TaskIds::Next(tasks), "program", Blob::default(), request);
        submit.profile_of = vec![profile; usize::from(profile) * 2];
        if parts {
            submit.parts = Parts::new(["a", "b"]).unwrap();
        }
        ClientRequest::Submit(Box::new(submit))
    })
}

fn request() -> impl Strategy<Value = ClientRequest> {
    let bounded = any::<u8>().prop_map(|len| Some("x".repeat(usize::from(len))));
    let states = prop::sample::subsequence(vec![JobState::Finished, JobState::Canceled, JobState::Waiting], 0..=3);
    let jobs = prop::option::of(prop::collection::vec((0u32..4).prop_map(JobId), 0..3));
    let from = prop::option::of(number().prop_map(Seq));
    let name = prop::sample::select(vec!["priority", "fcfs", "pack", "x", ""]);
    prop_oneof![
        8 => submit(),
        1 => Just(ClientRequest::ServerInfo),
        2 => Just(ClientRequest::OpenJob(JobSpec::default())),
        2 => selector().prop_map(ClientRequest::CloseJobs),
        3 => (selector(), bounded).prop_map(|(jobs, reason)| ClientRequest::CancelJobs { jobs, reason }),
        2 => selector().prop_map(|jobs| ClientRequest::CancelWaiting { jobs, reason: None }),
        2 => (selector(), states).prop_map(|(jobs, states)| ClientRequest::ForgetJobs { jobs, states }),
        1 => selector().prop_map(ClientRequest::Jobs),
        1 => (selector(), any::<bool>()).prop_map(|(jobs, bodies)| ClientRequest::JobDetails { jobs, part: hq_core::DetailPart::whole(bodies) }),
        2 => (0u32..4, 0u32..6)
            .prop_map(|(job, task)| ClientRequest::Explain { job: JobId(job), task: TaskNumber(task) }),
        2 => (selector(), any::<bool>())
            .prop_map(|(jobs, until_closed)| ClientRequest::WaitJobs { jobs, until_closed }),
        1 => selector().prop_map(ClientRequest::Workers),
        1 => selector().prop_map(ClientRequest::StopWorkers),
        1 => (0u32..3).prop_map(ClientRequest::WaitWorkers),
        2 => (from, jobs, any::<u32>())
            .prop_map(|(from, jobs, credit)| ClientRequest::Subscribe { from, jobs, credit }),
        1 => (number(), any::<u32>()).prop_map(|(id, batches)| ClientRequest::Credit {
            subscription: RequestId(id),
            batches
        }),
        1 => number().prop_map(|id| ClientRequest::Abandon(RequestId(id))),
        1 => (name.clone(), name).prop_map(|(order, placement)| ClientRequest::SetPolicy {
            order: order.to_owned(),
            placement: placement.to_owned()
        }),
    ]
}

/// An input, or time that passes.
fn step() -> impl Strategy<Value = Result<ServerInput, Span>> {
    let role = prop::sample::select(vec![PeerRole::Worker, PeerRole::Client]);
    let call = (number(), request()).prop_map(|(id, request)| Call { id: RequestId(id), request });
    prop_oneof![
        4 => (link(), role, 1u16..3).prop_map(|(link, role, protocol)| Ok(ServerInput::LinkUp { link, role, protocol })),
        8 => (link(), prop::collection::vec(from_worker(), 0..4))
            .prop_map(|(link, messages)| Ok(ServerInput::FromWorker { link, messages })),
        8 => (link(), prop::collection::vec(call, 0..4))
            .prop_map(|(link, calls)| Ok(ServerInput::FromClient { link, calls })),
        1 => link().prop_map(|link| Ok(ServerInput::LinkDown { link })),
        3 => (0u64..60).prop_map(|seq| Ok(ServerInput::Durable { seq: Seq(seq) })),
        2 => (0u64..20_000_000).prop_map(|span| Err(Span(span))),
    ]
}

/// Whoever is to know its secret does.
fn know_tokens(rig: &Rig, input: &mut ServerInput) {
    let ServerInput::FromWorker { messages, .. } = input else { return };
    for message in messages {
        let FromWorker::Resume(resume) = message else { continue };
        let welcome = rig.to_worker.values().flatten().find_map(|said| match said {
            ToWorker::Welcome(welcome) if welcome.worker == resume.worker => Some(welcome),
            _ => None,
        });
        if let Some(welcome) = welcome.filter(|_| resume.token == 1) {
            resume.token = welcome.token;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn garbage_does_no_harm(
        journal in any::<bool>(),
        steps in prop::collection::vec(step(), 0..60),
        last in 0u8..4,
    ) {
        let mut config = config(journal);
        config.feed_bytes = 2_000;
        let mut rig = Rig::with(config, vec![]);
        for step in steps {
            match step {
                Ok(mut input) => {
                    know_tokens(&rig, &mut input);
                    // A shell never uses the name of a link twice.
                    if matches!(&input, ServerInput::LinkUp { link, .. } if rig.closed.contains(link)) {
                        continue;
                    }
                    rig.input(input);
                }
                Err(span) => rig.pass(span),
            }
        }
        match last {
            0 => rig.input(ServerInput::JournalFailed { reason: "x".to_owned() }),
            1 => rig.input(ServerInput::Interrupted),
            _ => {}
        }
        rig.pass(Span::secs(30));
        prop_assert_eq!(rig.stopped, last == 1);
        // What was written loads.
        let restored = rig.restart(Span::secs(1));
        prop_assert_eq!(restored.node.epoch(), Epoch(2));
    }
}
