use std::sync::Arc;

use hq_core::{FailCause, Open, Ordinal, Outcome, Span, Tick};

use super::{Lane, StopHow, backlog::Backlog};

/// How much earlier than told a lane stops starting tasks, so that a start is never late by the server's clock.
const NOT_AFTER_MARGIN: Span = Span::millis(10);

/// Between the request to end and the end for good.
const GRACE: Span = Span::secs(1);

/// A lane: at most one run at a time, and what waits behind it.
#[derive(Debug)]
pub(super) struct LaneState {
    pub(super) lane: Arc<Lane>,
    pub(super) backlog: Backlog,
    pub(super) running: Option<Run>,
    /// A run did not end well, and the server has not said to go on.
    pub(super) holds: bool,
    /// It ends with its run.
    pub(super) closing: bool,
    /// It stands in the queue of lanes that may be able to start something.
    pub(super) queued: bool,
    /// Number of the latest recall.
    pub(super) recalls: u32,
    not_after: Option<Tick>,
}

impl LaneState {
    /// An idle lane without tasks. The work of `open` is left alone.
    pub(super) fn new(now: Tick, open: &Open, server_uid: &str) -> Self {
        let lane = Lane {
            request: Arc::clone(&open.request),
            variant: open.variant,
            variants: open.variants,
            allocation: (*open.allocation).clone(),
            hosts: open.hosts.clone(),
            server_uid: server_uid.to_owned(),
        };
        Self {
            lane: Arc::new(lane),
            backlog: Backlog::default(),
            running: None,
            holds: false,
            closing: false,
            queued: false,
            recalls: 0,
            not_after: open.not_after.map(|span| now.after(span).before(NOT_AFTER_MARGIN)),
        }
    }

    /// Whether the lane by itself allows a start.
    pub(super) fn may_start(&self, now: Tick) -> bool {
        self.running.is_none() && !self.holds && !self.closing && self.not_after.is_none_or(|limit| now <= limit)
    }
}

/// What runs in a lane.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) task: Ordinal,
    pub(super) started: Tick,
    /// When the next step towards its end is due.
    pub(super) alarm: Option<Tick>,
    /// The latest step towards its end.
    stopped: Option<StopHow>,
    /// What is reported, whatever its runner says.
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Killed,
    TimeLimit,
}

impl Run {
    pub(super) fn new(now: Tick, task: Ordinal, time_limit: Option<Span>) -> Self {
        Self { task, started: now, alarm: time_limit.map(|limit| now.after(limit)), stopped: None, verdict: None }
    }

    /// The server's word to end; says what is to be done now, if not done already.
    pub(super) fn kill(&mut self, now: Tick) -> Option<StopHow> {
        self.verdict = Some(Verdict::Killed);
        if self.stopped.is_some() {
            return None;
        }
        Some(self.interrupt(now))
    }

    /// The alarm is due; says what is to be done now.
    pub(super) fn fire(&mut self, now: Tick) -> StopHow {
        if self.stopped.is_none() {
            self.verdict = Some(Verdict::TimeLimit);
            return self.interrupt(now);
        }
        self.stopped = Some(StopHow::Kill);
        self.alarm = None;
        StopHow::Kill
    }

    fn interrupt(&mut self, now: Tick) -> StopHow {
        self.stopped = Some(StopHow::Interrupt);
        self.alarm = Some(now.after(GRACE));
        StopHow::Interrupt
    }

    /// What its end is reported as.
    pub(super) fn outcome(&self, seen: Outcome) -> Outcome {
        match self.verdict {
            None => seen,
            Some(Verdict::Killed) => Outcome::Killed,
            Some(Verdict::TimeLimit) => Outcome::failed_of(FailCause::TimeLimit, "Time limit reached"),
        }
    }
}
