use std::{
    collections::{BTreeMap, VecDeque},
    mem,
};

use hq_core::{GrantId, LaneReport, Ordinal, Outcome, Report, RunEnd, RunId, Tick};

/// The most ends in a report, unless one drain gives more than that at once.
const REPORT_ENDS_MAX: u64 = 4096;

/// What the server does not know yet, and what it has not acknowledged.
///
/// Of a report that is sent only the size is kept, unless it may have to be sent again over another link.
#[derive(Debug, Default)]
pub(super) struct Reports {
    keeps: bool,
    news: BTreeMap<GrantId, News>,
    /// Ends in `news`.
    fresh: u64,
    /// Number of the latest report that was made.
    made: u64,
    /// Number of the latest report that was acknowledged.
    acked: u64,
    /// Each report since `acked`.
    sent: VecDeque<Sent>,
    /// Ends in `sent`.
    unacked: u64,
}

/// A report on its way.
#[derive(Debug)]
struct Sent {
    ends: u64,
    /// Empty where nothing is sent again.
    news: BTreeMap<GrantId, News>,
}

/// What happened in a lane since the latest report.
#[derive(Clone, Debug, Default)]
struct News {
    ended: Vec<Ended>,
    started: Option<(Ordinal, Tick)>,
}

#[derive(Clone, Debug)]
struct Ended {
    task: Ordinal,
    from: Tick,
    to: Tick,
    outcome: Outcome,
}

impl Reports {
    /// Nothing yet; `keeps`: what is sent may have to be sent again.
    pub(super) fn new(keeps: bool) -> Self {
        Self { keeps, ..Self::default() }
    }

    /// The same for a new beginning: all that was to be told is nobody's business any more.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.keeps);
    }

    /// Number of the last report that is safe.
    pub(super) const fn acked(&self) -> u64 {
        self.acked
    }

    /// All reports that are not acknowledged, as of now. What is new goes into the last one.
    pub(super) fn again(&mut self, now: Tick) -> Vec<Report> {
        self.send(now);
        let sent = self.sent.iter().map(|sent| lanes_of(sent.news.clone(), now));
        (self.acked + 1..).zip(sent).map(|(seq, lanes)| Report { seq, lanes }).collect()
    }

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
        let lanes = self.send(now)?;
        Some(Report { seq: self.made, lanes })
    }

    fn send(&mut self, now: Tick) -> Option<Vec<LaneReport>> {
        if self.news.is_empty() {
            return None;
        }
        self.made += 1;
        self.unacked += self.fresh;
        let news = mem::take(&mut self.news);
        let kept = if self.keeps { news.clone() } else { BTreeMap::new() };
        self.sent.push_back(Sent { ends: mem::take(&mut self.fresh), news: kept });
        Some(lanes_of(news, now))
    }

    /// Reports up to `seq` are safe. Old numbers and those never used change nothing.
    pub(super) fn ack(&mut self, seq: u64) {
        if seq > self.made {
            return;
        }
        while self.acked < seq
            && let Some(sent) = self.sent.pop_front()
        {
            self.acked += 1;
            self.unacked -= sent.ends;
        }
    }
}

fn lanes_of(news: BTreeMap<GrantId, News>, now: Tick) -> Vec<LaneReport> {
    let lane = |(grant, news): (GrantId, News)| LaneReport {
        grant,
        ended: news.ended.into_iter().map(|ended| ended.report(now)).collect(),
        started: news.started.map(|(task, at)| (task, now.since(at))),
    };
    news.into_iter().map(lane).collect()
}

impl Ended {
    fn report(self, now: Tick) -> RunEnd {
        RunEnd { task: self.task, age: now.since(self.to), took: self.to.since(self.from), outcome: self.outcome }
    }
}
