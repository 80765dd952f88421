use std::{
    collections::{BTreeMap, VecDeque},
    mem,
};

use hq_core::{GrantId, LaneReport, Ordinal, Outcome, Report, RunEnd, RunId, Tick};

/// The most ends in a report, unless one drain gives more than that at once.
const REPORT_ENDS_MAX: u64 = 4096;

/// What the server does not know yet, and what it has not acknowledged.
///
/// Of a report that is sent only the size is kept: on a link that is gone nothing can be sent again.
#[derive(Debug, Default)]
pub(super) struct Reports {
    news: BTreeMap<GrantId, News>,
    /// Ends in `news`.
    fresh: u64,
    /// Number of the latest report that was made.
    made: u64,
    /// Number of the latest report that was acknowledged.
    acked: u64,
    /// Ends in each report since `acked`.
    sent: VecDeque<u64>,
    /// Sum of `sent`.
    unacked: u64,
}

/// What happened in a lane since the latest report.
#[derive(Debug, Default)]
struct News {
    ended: Vec<Ended>,
    started: Option<(Ordinal, Tick)>,
}

#[derive(Debug)]
struct Ended {
    task: Ordinal,
    from: Tick,
    to: Tick,
    outcome: Outcome,
}

impl Reports {
    /// A run has started.
    pub(super) fn started(&mut self, now: Tick, run: RunId) {
        self.news.entry(run.grant).or_default().started = Some((run.task, now));
    }

    /// A run has ended, or could not start (`from` is `to`).
    pub(super) fn ended(&mut self, run: RunId, from: Tick, to: Tick, outcome: Outcome) {
        let news = self.news.entry(run.grant).or_default();
        news.started.take_if(|(task, _)| *task == run.task);
        news.ended.push(Ended { task: run.task, from, to, outcome });
        self.fresh += 1;
    }

    /// Whether a report should be made even though more could be added soon.
    pub(super) const fn is_full(&self) -> bool {
        self.fresh >= REPORT_ENDS_MAX
    }

    /// Ends that are not acknowledged, reported or not.
    pub(super) const fn outstanding(&self) -> u64 {
        self.unacked + self.fresh
    }

    /// Everything that is new, as of now; none where nothing is.
    pub(super) fn make(&mut self, now: Tick) -> Option<Report> {
        if self.news.is_empty() {
            return None;
        }
        self.made += 1;
        self.unacked += self.fresh;
        self.sent.push_back(mem::take(&mut self.fresh));
        let lanes = mem::take(&mut self.news).into_iter().map(|(grant, news)| LaneReport {
            grant,
            ended: news.ended.into_iter().map(|ended| ended.report(now)).collect(),
            started: news.started.map(|(task, at)| (task, now.since(at))),
        });
        Some(Report { seq: self.made, lanes: lanes.collect() })
    }

    /// Reports up to `seq` are safe. Old numbers and those never used change nothing.
    pub(super) fn ack(&mut self, seq: u64) {
        if seq > self.made {
            return;
        }
        while self.acked < seq
            && let Some(ends) = self.sent.pop_front()
        {
            self.acked += 1;
            self.unacked -= ends;
        }
    }
}

impl Ended {
    fn report(self, now: Tick) -> RunEnd {
        RunEnd { task: self.task, age: now.since(self.to), took: self.to.since(self.from), outcome: self.outcome }
    }
}
