/// A page of the dashboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tab {
    /// Jobs and their tasks.
    #[default]
    Jobs,
    /// Queues and their allocations.
    Queues,
    /// Workers and what they do.
    Workers,
}

impl Tab {
    /// All pages, in order.
    pub(crate) const ALL: [Self; 3] = [Self::Jobs, Self::Queues, Self::Workers];

    /// Its title, and the key that leads to it.
    pub(crate) const fn title(self) -> (&'static str, char) {
        match self {
            Self::Jobs => ("Jobs", 'j'),
            Self::Queues => ("AutoAllocator", 'a'),
            Self::Workers => ("Workers", 'w'),
        }
    }
}

/// Which list of a page the arrows move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The list of jobs, queues or workers.
    #[default]
    List,
    /// What belongs to the chosen one: its tasks or allocations.
    Parts,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Show a page.
    Show(Tab),
    /// Move in the list by so many lines.
    Move(i64),
    /// Move by so many pages of the list.
    Page(i64),
    /// Go to the list's first line.
    Home,
    /// Go to its last line.
    End,
    /// Move in the other list of the page.
    Other,
    /// Move in the parts.
    Enter,
    /// Move in the list; leave the help.
    Back,
    /// Look at what was before.
    Earlier,
    /// Look at what came after.
    Later,
    /// Look at half as much time.
    Closer,
    /// Look at twice as much time.
    Farther,
    /// Look at the latest moment again.
    Latest,
    /// Show what keys do, or no more.
    Help,
    /// Draw everything anew.
    Redraw,
    /// End.
    Quit,
}
