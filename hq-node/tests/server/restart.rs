//! The server goes on from its journal.

use hq_core::{
    ClientReply, ClientRequest, DetailPart, Fact, IdList, JobDetail, JobId, JobSpec, JobTarget, LinkId, Outcome,
    Selector, Seq, Span, Tick, WallTime,
};
use hq_node::ServerNode;

use crate::kit::{Rig, cancel, config, submit, submit_to};

fn details(rig: &mut Rig, client: LinkId) -> Vec<JobDetail> {
    match rig.ask(client, ClientRequest::JobDetails { jobs: Selector::All, part: DetailPart::whole(true) }) {
        ClientReply::JobDetails(page) => page.jobs,
        other => panic!("no details: {other:?}"),
    }
}

/// A server with jobs in all states but running.
fn lived() -> Rig {
    let mut rig = Rig::with(config(true), vec![]);
    rig.confirms = true;
    rig.confirm();
    let client = rig.client();
    rig.now = Tick(1_000);
    rig.submit(client, 3);
    let mut worker = rig.worker(2);
    rig.now = Tick(50_000);
    worker.start(&mut rig);
    rig.now = Tick(70_000);
    worker.end(&mut rig, &Outcome::Failed("it broke".to_owned()));
    worker.run_all(&mut rig);
    rig.call(client, ClientRequest::OpenJob(JobSpec { name: "open".to_owned(), max_fails: Some(1) }));
    rig.call(client, submit_to(JobTarget::Attach(JobId(2)), 4));
    worker.run_all(&mut rig);
    rig.call(client, ClientRequest::StopWorkers(Selector::All));
    rig.now = Tick(90_000);
    rig.call(client, submit(100));
    let reason = Some("why not".to_owned());
    rig.call(client, ClientRequest::CancelJobs { jobs: Selector::Ids(IdList::range(3, 1)), reason });
    rig.call(client, submit(7));
    rig
}

#[test]
fn restored_is_live() {
    let mut live = lived();
    let client = live.client();
    let before = details(&mut live, client);
    assert_eq!(before.len(), 4);
    let mut restored = live.restart(Span::secs(60));
    let client = restored.client();
    let mut after = details(&mut restored, client);
    for job in &mut after {
        job.workers.clear(); // workers are not restored
    }
    let mut before = before;
    for job in &mut before {
        job.workers.clear();
    }
    assert_eq!(before, after);
}

#[test]
fn uid_epoch_and_ids_go_on() {
    let mut live = lived();
    let mut restored = live.restart(Span::secs(60));
    assert_eq!((restored.node.server_uid(), restored.node.epoch().0), ("abc123", 2));
    let client = restored.client();
    assert_eq!(restored.submit(client, 1), JobId(5));
    let ClientReply::Server(info) = restored.ask(client, ClientRequest::ServerInfo) else { panic!("no info") };
    assert_eq!((info.server_uid.as_str(), info.started), ("abc123", WallTime(1_060_000_000)));
    let seqs: Vec<Seq> = restored.log.iter().map(|(seq, _)| *seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0].next()));
    live.drain();
}

#[test]
fn time_goes_on_and_never_back() {
    let live = lived();
    let last = live.log.last().unwrap().1.at;
    assert_eq!(live.restart(Span::secs(60)).node.boot_tick(), Tick(60_000_000), "by the wall clock");
    assert_eq!(live.restart(Span::ZERO).node.boot_tick(), last, "a clock that stood still");
    let mut config = live.config.clone();
    config.info.started = WallTime(5);
    let back = ServerNode::new(config, live.log.clone()).unwrap();
    assert_eq!(back.boot_tick(), last, "a clock that was set back");
}

#[test]
fn every_prefix_of_whole_steps_loads_and_its_waiting_tasks_run() {
    let live = lived();
    for end in 0..=live.log.len() {
        let mut rig = Rig::with(config(true), live.log[..end].to_vec());
        rig.confirms = true;
        rig.confirm();
        let client = rig.client();
        let mut worker = rig.worker(4);
        worker.run_all(&mut rig);
        for job in details(&mut rig, client) {
            assert!(job.info.counts.is_terminated(), "cut at {end}: {:?}", job.info);
        }
    }
}

#[test]
fn completion_is_told_once_over_restarts() {
    let live = lived();
    let mut restored = live.restart(Span::secs(1));
    let watcher = restored.client();
    restored.call(watcher, ClientRequest::Subscribe { from: None, jobs: None, credit: 100 });
    let client = restored.client();
    restored.ask(client, cancel(Selector::All));
    let completed: Vec<JobId> = restored
        .replies(watcher)
        .into_iter()
        .filter_map(|(_, reply)| if let ClientReply::Events(events) = reply { Some(events) } else { None })
        .flatten()
        .filter_map(|event| match event.kind {
            hq_core::EventKind::JobCompleted { job } => Some(job),
            _ => None,
        })
        .collect();
    assert_eq!(completed, [JobId(4)], "the others had completed before");
}

#[test]
fn events_before_the_boot_are_not_known() {
    let mut restored = lived().restart(Span::secs(1));
    let watcher = restored.client();
    let boot = restored.log.iter().rfind(|(_, record)| matches!(record.fact, Fact::Boot { .. })).unwrap().0;
    restored.call(watcher, ClientRequest::Subscribe { from: Some(Seq(1)), jobs: None, credit: 100 });
    let replies = restored.replies(watcher);
    assert_eq!(replies[0].1, ClientReply::Reset { next: boot });
    assert!(matches!(&replies[1].1, ClientReply::Events(events) if events[0].seq == boot));
}

#[test]
fn a_history_that_contradicts_itself_is_refused_by_number() {
    let live = lived();
    let mut doubled = live.log.clone();
    doubled.push(live.log[1].clone());
    let error = ServerNode::new(config(true), doubled).unwrap_err();
    assert!(error.contains("record 2"), "{error}");
    let mut wrong = live.log.clone();
    let last = wrong.last().unwrap().0;
    let fact = Fact::JobClosed { job: JobId(77) };
    wrong.push((last.next(), hq_core::Record { at: Tick(99_000), fact }));
    let error = ServerNode::new(config(true), wrong).unwrap_err();
    assert!(error.contains(&format!("record {}", last.next())), "{error}");
}
