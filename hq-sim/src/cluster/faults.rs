use hq_core::Span;

/// What may go wrong, and how often. Rates are in a hundred, or mean distances of events; a zero distance means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Time of a message on a link, shortest and longest; drawn per message, in order per link.
    pub delay: (Span, Span),
    /// Time until an append is durable, shortest and longest.
    pub disk: (Span, Span),
    /// Messages that are delivered again: the server's at once, those of workers at once, later, or after their link has ended.
    pub doubled_percent: u64,
    /// Between losses of a worker with its process.
    pub crash: Span,
    /// Between stops of a worker for a while.
    pub freeze: Span,
    /// Between networks that fall silent and are cut later, while the worker lives on.
    pub partition: Span,
    /// Between links that break at once, with what is under way, while the worker lives on.
    pub cut: Span,
    /// Between ends of the server without warning.
    pub restart: Span,
}

impl Faults {
    /// A good network of constant delay, a disk that takes a millisecond, and nothing else.
    pub const NONE: Self = Self {
        delay: (Span(100), Span(100)),
        disk: (Span::millis(1), Span::millis(1)),
        doubled_percent: 0,
        crash: Span::ZERO,
        freeze: Span::ZERO,
        partition: Span::ZERO,
        cut: Span::ZERO,
        restart: Span::ZERO,
    };
}
