/// Where in a file the frames of a run are: ranges that hold them all and as little else as is affordable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents(Vec<(u64, u64)>);

impl Extents {
    /// Adds the frame that begins at `begin`, which lies behind all before. A gap up to `gap` is taken in. Says by how
    /// many ranges there are more.
    pub(crate) fn add(&mut self, begin: u64, end: u64, gap: u64) -> usize {
        match self.0.last_mut() {
            Some((_, last)) if begin.saturating_sub(*last) <= gap => {
                *last = end.max(*last);
                0
            }
            _ => {
                self.0.push((begin, end));
                1
            }
        }
    }

    /// Takes in all gaps up to `gap`; says how many ranges are left.
    pub(crate) fn merge(&mut self, gap: u64) -> usize {
        self.0.dedup_by(|next, before| {
            let is_near = next.0.saturating_sub(before.1) <= gap;
            if is_near {
                before.1 = before.1.max(next.1);
            }
            is_near
        });
        self.0.shrink_to_fit();
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        self.0.iter().map(|(begin, end)| *begin..*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_frames_are_one_range() {
        let mut extents = Extents::default();
        let added: usize = [(10, 20), (20, 30), (35, 40), (100, 110), (120, 130)]
            .into_iter()
            .map(|(begin, end)| extents.add(begin, end, 5))
            .sum();
        assert_eq!(added, 3);
        assert_eq!(extents.iter().collect::<Vec<_>>(), [10..40, 100..110, 120..130]);
        assert_eq!((extents.merge(10), extents.merge(100)), (2, 1));
        assert_eq!(extents, Extents(vec![(10, 130)]));
    }
}
