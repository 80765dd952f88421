use hq_core::{Span, WallTime};

/// The shortest part of the time that can be looked at.
const SPAN_MIN: Span = Span::secs(10);
/// The longest.
const SPAN_MAX: Span = Span::secs(7 * 24 * 3600);
/// At the beginning.
const SPAN_FIRST: Span = Span::secs(300);

/// The part of the time that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    span: Span,
    /// Its end; none: the latest moment there is.
    end: Option<WallTime>,
    first: Option<WallTime>,
    last: WallTime,
}

impl Timeline {
    /// What is now, and the minutes before.
    pub(crate) const fn new(now: WallTime) -> Self {
        Self { span: SPAN_FIRST, end: None, first: None, last: now }
    }

    /// There is something to see from `first` to `last`.
    pub(crate) fn reach(&mut self, first: Option<WallTime>, last: WallTime) {
        self.first = self.first.into_iter().chain(first).min();
        self.last = self.last.max(last);
    }

    /// All of it, as far as the longest part reaches.
    pub(crate) fn whole(&mut self) {
        let first = self.first.unwrap_or(self.last);
        self.span = Span(self.last.0.saturating_sub(first.0)).clamp(SPAN_MIN, SPAN_MAX);
        self.end = None;
    }

    /// Whether its first moment is known.
    pub(crate) const fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Whether it follows the latest moment.
    pub(crate) const fn is_latest(&self) -> bool {
        self.end.is_none()
    }

    /// Its first moment.
    pub(crate) fn start(&self) -> WallTime {
        WallTime(self.end().0.saturating_sub(self.span.0))
    }

    /// Its last moment.
    pub(crate) fn end(&self) -> WallTime {
        self.end.unwrap_or(self.last)
    }

    /// The latest moment there is.
    pub(crate) const fn last(&self) -> WallTime {
        self.last
    }

    /// How long it is.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }

    /// A quarter of its length back; not to before anything happened.
    pub(crate) fn earlier(&mut self) {
        let end = self.end().0.saturating_sub(self.step());
        let first = self.first.unwrap_or(WallTime(0));
        self.end = Some(WallTime(end).max(first.min(self.end())));
    }

    /// A quarter of its length on; at the latest moment it follows that.
    pub(crate) fn later(&mut self) {
        let end = WallTime(self.end().0.saturating_add(self.step()));
        self.end = Some(end).filter(|end| *end < self.last);
    }

    /// Half as long.
    pub(crate) fn closer(&mut self) {
        self.span = Span(self.span.0 / 2).max(SPAN_MIN);
    }

    /// Twice as long; seven days at most.
    pub(crate) fn farther(&mut self) {
        self.span = Span(self.span.0.saturating_mul(2)).min(SPAN_MAX);
    }

    /// Follows the latest moment.
    pub(crate) const fn latest(&mut self) {
        self.end = None;
    }

    const fn step(&self) -> u64 {
        self.span.0 / 4
    }
}
