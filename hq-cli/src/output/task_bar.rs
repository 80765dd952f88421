use hq_core::TaskCounts;

/// Characters between the brackets.
const WIDTH: u64 = 30;

/// How far tasks are after so many seconds, and how long it still takes if it goes on like that.
pub(crate) fn task_bar(counts: &TaskCounts, seconds: u64) -> String {
    let total = counts.total();
    let left = counts.waiting + counts.running;
    let done = total - left;
    // Rounded down: a full bar means that all have ended.
    let filled = if total == 0 { WIDTH } else { (u128::from(done) * u128::from(WIDTH) / u128::from(total)) as u64 };
    let part = |c: &str, n: u64| c.repeat(usize::try_from(n).unwrap_or_default());
    let mut line = format!("[{}{}] {done}/{total}", part("#", filled), part(".", WIDTH - filled));
    if counts.failed > 0 {
        line += &format!(", {} failed", counts.failed);
    }
    if done > 0 && left > 0 {
        let eta = (u128::from(seconds) * u128::from(left) / u128::from(done)) as u64;
        line += &format!(", ETA {}", hq_core::Span::secs(eta));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let counts = |waiting, finished, failed| TaskCounts { waiting, finished, failed, ..TaskCounts::default() };
        for (counts, seconds, expected) in [
            (counts(0, 0, 0), 0, "[##############################] 0/0"),
            (counts(4, 0, 0), 9, "[..............................] 0/4"),
            (counts(2, 1, 1), 60, "[###############...............] 2/4, 1 failed, ETA 1m"),
            (counts(0, 4, 0), 60, "[##############################] 4/4"),
            (counts(1, 99, 0), 99, "[#############################.] 99/100, ETA 1s"),
        ] {
            assert_eq!(task_bar(&counts, seconds), expected);
        }
    }
}
