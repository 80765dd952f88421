use hq_core::{JobInfo, TaskCounts, TaskState};

use super::Color;

/// Cells of a bar where there is room for it.
const BAR_WIDTH: usize = 40;

/// How far jobs are, in one line without its end: `[###...] 1/2 jobs, 30/100 tasks 4 RUNNING 1 FAILED`.
///
/// It is not longer than `width` characters: the bar gives way first, then the end of the text.
pub(crate) fn progress_line(jobs: &[JobInfo], width: usize, colors: bool) -> String {
    let counts: TaskCounts = jobs.iter().map(|job| &job.counts).sum();
    let (total, done) = (counts.total(), counts.ended());
    let ended = jobs.iter().filter(|job| job.counts.is_terminated()).count();
    let mut text = vec![(format!(" {ended}/{} jobs, {done}/{total} tasks", jobs.len()), None)];
    for (state, color) in [
        (TaskState::Running, Color::Yellow),
        (TaskState::Failed, Color::Red),
        (TaskState::Canceled, Color::Magenta),
        (TaskState::Aborted, Color::BrightRed),
    ] {
        let count = counts.of(state);
        if count > 0 {
            text.push((format!(" {count} "), None));
            text.push((state.label().to_owned(), Some(color)));
        }
    }
    let taken: usize = text.iter().map(|(piece, _)| piece.len()).sum();
    // A bar of less than four cells tells nothing.
    let cells = width.saturating_sub(taken + 2).min(BAR_WIDTH);
    let mut line = if cells >= 4 { bar(done, total, cells) } else { String::new() };
    let mut room = width.saturating_sub(line.len());
    for (piece, color) in text {
        let piece: String = piece.chars().take(room).collect();
        room -= piece.len();
        match color {
            Some(color) if colors && !piece.is_empty() => line += &color.paint(&piece),
            _ => line += &piece,
        }
    }
    line
}

/// `[##..]`: full only when all is done.
fn bar(done: u64, total: u64, cells: usize) -> String {
    let full = u128::from(done) * cells as u128 / u128::from(total.max(1));
    let full = usize::try_from(full).unwrap_or(cells).min(cells);
    format!("[{}{}]", "#".repeat(full), ".".repeat(cells - full))
}

#[cfg(test)]
mod tests {
    use hq_core::TaskCounts;

    use super::*;
    use crate::testing::samples;

    fn jobs() -> Vec<JobInfo> {
        let counts = |waiting, running, finished, failed| TaskCounts {
            waiting,
            running,
            finished,
            failed,
            ..TaskCounts::default()
        };
        [counts(10, 4, 5, 1), counts(0, 0, 20, 0)].map(|counts| JobInfo { counts, ..samples::job(1) }).into()
    }

    #[test]
    fn lines() {
        for (jobs, width, expected) in [
            (&jobs()[..], 200, "[##########################..............] 1/2 jobs, 26/40 tasks 4 RUNNING 1 FAILED"),
            (&jobs()[..], 60, "[###########......] 1/2 jobs, 26/40 tasks 4 RUNNING 1 FAILED"),
            (&jobs()[..], 46, " 1/2 jobs, 26/40 tasks 4 RUNNING 1 FAILED"),
            (&jobs()[..], 40, " 1/2 jobs, 26/40 tasks 4 RUNNING 1 FAILE"),
            (&jobs()[..], 0, ""),
            (&jobs()[1..], 80, "[########################################] 1/1 jobs, 20/20 tasks"),
            (&[], 40, "[..................] 0/0 jobs, 0/0 tasks"),
        ] {
            let line = progress_line(jobs, width, false);
            assert_eq!(line, expected, "{width}");
            assert!(line.chars().count() <= width);
        }
    }

    #[test]
    fn colours_take_no_room() {
        let (plain, painted) = (progress_line(&jobs(), 60, false), progress_line(&jobs(), 60, true));
        assert!(painted.contains("\x1b[33mRUNNING\x1b[0m"), "{painted}");
        assert_eq!(painted.replace("\x1b[33m", "").replace("\x1b[31m", "").replace("\x1b[0m", ""), plain);
    }

    #[test]
    fn a_bar_is_full_only_at_the_end() {
        for (done, total, full) in [(0, 0, 0), (0, 9, 0), (1, 1_000_000, 0), (999_999, 1_000_000, 9), (7, 7, 10)] {
            assert_eq!(bar(done, total, 10).matches('#').count(), full, "{done}/{total}");
        }
        assert_eq!(bar(u64::MAX, u64::MAX, 10).len(), 12);
    }
}
