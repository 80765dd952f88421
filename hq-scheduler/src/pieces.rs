use std::iter::{Peekable, from_fn};

use hq_core::{Ordinal, OrdinalRange, TaskState};

use crate::{Scheduler, view::TaskPiece};

impl Scheduler {
    /// The tasks of `range`, which is of one submit, in order. What is looked at follows what is taken, not the range.
    pub fn task_pieces(&self, base: Ordinal, range: OrdinalRange) -> impl Iterator<Item = TaskPiece> + '_ {
        let submit = self.state.submits.get(&base);
        let within = |set: fn(&crate::state::SubmitState) -> &hq_core::RangeSet| {
            submit.into_iter().flat_map(move |submit| set(submit).within(range))
        };
        let mut recorded = self.state.records.in_range(range).map(|(task, _)| OrdinalRange::one(task)).peekable();
        let mut canceled = within(|submit| &submit.canceled).peekable();
        let mut aborted = within(|submit| &submit.aborted).peekable();
        let mut at = range.start;
        from_fn(move || {
            let starts = [start(&mut recorded), start(&mut canceled), start(&mut aborted)];
            let next = starts.into_iter().flatten().min().unwrap_or(range.end());
            if at < next {
                // What is told nowhere waits.
                let waiting = OrdinalRange::new(at, next.0 - at.0);
                at = next;
                return Some(TaskPiece::Bare(TaskState::Waiting, waiting));
            }
            let is_next = |range: &OrdinalRange| range.start == next;
            let piece = if let Some(task) = recorded.next_if(is_next) {
                TaskPiece::Recorded(task.start)
            } else if let Some(range) = canceled.next_if(is_next) {
                TaskPiece::Bare(TaskState::Canceled, range)
            } else {
                TaskPiece::Bare(TaskState::Aborted, aborted.next_if(is_next)?)
            };
            at = match piece {
                TaskPiece::Recorded(task) => task.plus(1),
                TaskPiece::Bare(_, range) => range.end(),
            };
            Some(piece)
        })
    }
}

fn start(ranges: &mut Peekable<impl Iterator<Item = OrdinalRange>>) -> Option<Ordinal> {
    ranges.peek().map(|range| range.start)
}
