use hq_core::Amount;

/// One group as a line of a request sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Its number in the resource.
    pub(super) at: usize,
    /// How many whole indices it has.
    pub(super) whole: u32,
    /// What is free of the used index that would serve best for the fraction, if one does.
    pub(super) part: Option<Amount>,
}

/// What a line of a request needs, and from which groups it can come.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) units: u64,
    pub(super) fraction: bool,
    /// The larger the earlier, then in order; only those that have something to give.
    pub(super) groups: Vec<Group>,
    /// How many whole indices the first so many groups have.
    pub(super) upto: Vec<u64>,
    /// What is free of the used index that would serve best for the fraction, of the groups from here on.
    pub(super) part_from: Vec<Option<Amount>>,
}

/// How bad a choice is, the most important first. The number of groups is no part of it, as it is the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Badness {
    /// Weight of the links that are not used.
    pub(super) lost: u64,
    /// Lines whose fraction needs a whole index to be cut.
    pub(super) cuts: u32,
    /// Whole indices in the chosen groups: the fewer, the better they are filled.
    pub(super) whole: u64,
    /// What is free of the used indices that serve for fractions.
    pub(super) part: u64,
}

impl Need {
    pub(super) fn new(amount: Amount, mut groups: Vec<Group>) -> Self {
        groups.retain(|group| group.whole > 0 || group.part.is_some());
        groups.sort_by_key(|group| (std::cmp::Reverse(group.whole), group.at));
        let mut upto = vec![0];
        upto.extend(groups.iter().scan(0, |sum, group| {
            *sum += u64::from(group.whole);
            Some(*sum)
        }));
        let mut part_from = vec![None; groups.len() + 1];
        for at in (0..groups.len()).rev() {
            part_from[at] = least_part(part_from[at + 1], groups[at].part);
        }
        Self { units: amount.whole(), fraction: amount.fraction() > 0, groups, upto, part_from }
    }

    /// How many whole indices are needed, one more where the fraction has to be cut from one.
    pub(super) const fn whole_needed(&self, part: Option<Amount>) -> u64 {
        if self.fraction && part.is_none() { self.units + 1 } else { self.units }
    }

    /// The least number of groups that suffice.
    pub(super) fn fewest(&self) -> usize {
        self.first().len()
    }

    /// The best group that suffices alone.
    pub(super) fn best_alone(&self) -> Option<usize> {
        let suffices = |group: &&Group| u64::from(group.whole) >= self.whole_needed(group.part);
        let badness = |group: &&Group| Badness::default().with_group(**group, 0).with_part(self, group.part);
        self.groups.iter().filter(suffices).min_by_key(badness).map(|group| group.at)
    }

    /// Some least set of groups that suffices, as positions: the largest ones, or with one of them replaced by the
    /// largest one that serves for the fraction, where this needs fewer.
    pub(super) fn first(&self) -> Vec<usize> {
        let largest = self.upto.partition_point(|sum| *sum < self.whole_needed(None));
        let cut: Vec<usize> = (0..largest.min(self.groups.len())).collect();
        let Some(with) = self.groups.iter().position(|group| group.part.is_some()) else { return cut };
        let mut used = vec![with];
        let mut whole = u64::from(self.groups[with].whole);
        for (at, group) in self.groups.iter().enumerate().filter(|(at, _)| *at != with) {
            if whole >= self.units {
                break;
            }
            used.push(at);
            whole += u64::from(group.whole);
        }
        if used.len() <= cut.len() { used } else { cut }
    }

    /// How bad any sufficient set of `count` groups is at least, links left aside.
    pub(super) fn least(&self, count: usize) -> Badness {
        let smallest = self.upto[self.groups.len()] - self.upto[self.groups.len() - count];
        let part = self.part_from[0];
        Badness { whole: smallest.max(self.whole_needed(part)), ..Badness::default() }.with_part(self, part)
    }
}

impl Badness {
    /// The same and the fraction of a line, which comes from what is free of a used index, or is cut from a whole one.
    pub(super) fn with_part(mut self, need: &Need, part: Option<Amount>) -> Self {
        match part {
            Some(part) if need.fraction => self.part += part.parts(),
            None if need.fraction => self.cuts += 1,
            _ => {}
        }
        self
    }

    /// The same and one more group.
    pub(super) fn with_group(self, group: Group, gain: u64) -> Self {
        Self { lost: self.lost - gain, whole: self.whole + u64::from(group.whole), ..self }
    }

    /// Both, one after the other.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            cuts: self.cuts + other.cuts,
            whole: self.whole + other.whole,
            part: self.part + other.part,
        }
    }
}

/// The smaller one of those that there are.
pub(super) fn least_part(a: Option<Amount>, b: Option<Amount>) -> Option<Amount> {
    [a, b].into_iter().flatten().min()
}
