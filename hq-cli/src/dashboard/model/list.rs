use std::ops::Range;

/// The part of a list of `len` lines that is shown in `height` of them: around the chosen one.
pub(crate) fn window(len: u64, chosen: u64, height: u16) -> Range<u64> {
    let height = u64::from(height);
    let start = chosen.saturating_sub(height / 2).min(len.saturating_sub(height));
    start..len.min(start.saturating_add(height))
}

/// Moves by `by`, and stays in a list of `len` lines.
pub(crate) fn moved(at: u64, by: i64, len: u64) -> u64 {
    at.saturating_add_signed(by).min(len.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_chosen_line_is_shown(len in 0_u64..1_000, chosen in 0_u64..1_000, height in 0_u16..100) {
            let shown = window(len, chosen, height);
            prop_assert!(shown.start <= shown.end && shown.end <= len);
            prop_assert_eq!(shown.end - shown.start, len.min(height.into()));
            prop_assert!(chosen >= len || height == 0 || shown.contains(&chosen));
        }

        #[test]
        fn no_move_leaves_the_list(at in any::<u64>(), by in any::<i64>(), len in 1_u64..u64::MAX) {
            prop_assert!(moved(at, by, len) < len);
        }
    }
}
