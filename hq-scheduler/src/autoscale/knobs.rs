use hq_core::Span;

/// How patient an [`Autoscaler`](super::Autoscaler) is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleKnobs {
    /// Distance of questions to a backend about what it has.
    pub refresh: Span,
    /// Least distance of two looks at what is wanted.
    pub tick: Span,
    /// A look at what is wanted is due after that long, whatever happens.
    pub look: Span,
    /// Distance of a submission from the last one, by how many have failed since the last success; the last one for more.
    pub delays: Vec<Span>,
    /// Submissions in a row that fail, before a queue is paused.
    pub submit_failures: u32,
    /// Allocations in a row that fail at once, before a queue is paused.
    pub allocation_failures: u32,
    /// An allocation whose workers are lost within that long has failed at once.
    pub quick: Span,
    /// After a failed submission a dry run is tried that much later, then after longer times up to
    /// [`probe_max`](Self::probe_max). Where it succeeds, a submission need not wait for its delay.
    pub probe: Span,
    /// See [`probe`](Self::probe).
    pub probe_max: Span,
    /// Answers without a state in a row, after which an allocation that has not begun is given up.
    pub queued_errors: u32,
    /// The same for one that has begun.
    pub running_errors: u32,
    /// Directories of failed submissions that are kept.
    pub kept_failures: u32,
}

impl Default for ScaleKnobs {
    fn default() -> Self {
        Self {
            refresh: Span::secs(30),
            tick: Span::secs(1),
            look: Span::secs(30),
            delays: [0, 1, 15, 30, 60].map(|minutes| Span::secs(minutes * 60)).to_vec(),
            submit_failures: 10,
            allocation_failures: 3,
            quick: Span::secs(60),
            probe: Span::secs(60),
            probe_max: Span::secs(240),
            queued_errors: 10,
            running_errors: 20,
            kept_failures: 20,
        }
    }
}

impl ScaleKnobs {
    pub(super) fn delay(&self, level: usize) -> Span {
        self.delays.get(level).or(self.delays.last()).copied().unwrap_or_default()
    }
}
