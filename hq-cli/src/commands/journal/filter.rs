use clap::ValueEnum;

use crate::view::EventLine;

/// Which events are wanted; by default all.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Filter {
    /// Only events about these
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    filter: Vec<Kind>,
    /// Only events of this job and its tasks
    #[arg(long, value_name = "ID")]
    job: Option<u32>,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Start and stop of servers.
    Server,
    /// Workers that come and go, and what they measure.
    Worker,
    /// Jobs as a whole.
    Job,
    /// Tasks.
    Task,
    /// Queues of allocations, and allocations.
    Allocation,
    /// What tasks say with `hq task notify`.
    Notify,
}

impl Kind {
    fn of(kind: &str) -> Option<Self> {
        let kinds = [
            ("server-", Self::Server),
            ("worker-", Self::Worker),
            ("job-", Self::Job),
            ("task-", Self::Task),
            ("autoalloc-", Self::Allocation),
            ("notify", Self::Notify),
        ];
        kinds.into_iter().find(|(prefix, _)| kind.starts_with(prefix)).map(|(_, kind)| kind)
    }
}

impl Filter {
    /// Whether a line is wanted.
    pub(crate) fn wants(&self, line: &EventLine) -> bool {
        (self.filter.is_empty() || Kind::of(line.kind()).is_some_and(|kind| self.filter.contains(&kind)))
            && self.job.is_none_or(|job| line.job() == Some(job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::samples,
        view::{EventLines, event_text},
    };

    #[test]
    fn lines_are_wanted_by_kind_and_job() {
        let (mut told, mut lines) = (EventLines::default(), vec![]);
        samples::events().iter().for_each(|event| told.tell(event, &mut lines));
        let all = Filter::default();
        assert!(lines.iter().all(|line| all.wants(line)));
        let kept =
            |filter: &Filter| -> Vec<EventLine> { lines.iter().filter(|line| filter.wants(line)).cloned().collect() };
        let kinds = [Kind::Server, Kind::Worker, Kind::Job, Kind::Task, Kind::Allocation, Kind::Notify];
        let count: usize = kinds.iter().map(|kind| kept(&Filter { filter: vec![*kind], job: None }).len()).sum();
        assert_eq!(count, lines.len(), "each line is of one kind");
        let tasks = kept(&Filter { filter: vec![Kind::Task, Kind::Notify], job: None });
        assert!(
            !tasks.is_empty() && tasks.iter().all(|line| line.kind().starts_with("task-") || line.kind() == "notify")
        );
        let first = lines.iter().find_map(EventLine::job).expect("something about a job");
        let of_job = kept(&Filter { filter: vec![], job: Some(first) });
        assert!(!of_job.is_empty() && of_job.len() < lines.len());
        let text = event_text(&of_job);
        assert!(!text.contains("worker-connected"), "{text}");
    }
}
