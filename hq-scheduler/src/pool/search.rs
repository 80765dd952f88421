use hq_core::Amount;

use super::{
    links::{Back, Link, backwards, has_links, most_weight},
    need::{Badness, Need, least_part},
};

/// Up to that many groups in all lines together the search always ends: it takes fewer steps than there are sets.
const EXACT: usize = 16;
/// Beyond `EXACT`, the search is content with the best it has found after looking at so many groups and links.
const LOOKS_MAX: u64 = 1 << 17;
/// Beyond that many groups to be chosen in all there is no search: its depth is bounded, and so is the stack.
const DEPTH_MAX: usize = 512;

/// Lines whose groups are to be chosen together.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) needs: Vec<Need>,
    pub(super) links: Vec<Link>,
}

/// The groups of each line, ascending.
#[derive(Debug)]
pub(super) struct Best {
    pub(super) groups: Vec<Vec<usize>>,
    /// Of the links between chosen groups.
    pub(super) weight: u64,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests count them"))]
    pub(super) steps: u32,
    /// Whether nothing is better.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests count them"))]
    pub(super) exact: bool,
}

impl Problem {
    /// The best choice among those with the fewest groups for each line.
    ///
    /// Exact up to 16 groups, and in most cases far beyond; in the others sound, only perhaps not the best.
    pub(super) fn solve(&self) -> Best {
        if let [need] = &self.needs[..]
            && let Some(group) = need.best_alone()
        {
            return Best { groups: vec![vec![group]], weight: 0, steps: 1, exact: true };
        }
        let mut search = Search::new(self);
        let deep = search.counts.iter().sum::<usize>() > DEPTH_MAX;
        if !deep {
            search.line(0, Badness { lost: search.weight_total, ..Badness::default() });
        }
        let groups = self.needs.iter().zip(&search.best).map(|(need, chosen)| {
            let mut groups: Vec<usize> = chosen.iter().map(|at| need.groups[*at].at).collect();
            groups.sort_unstable();
            groups
        });
        Best {
            groups: groups.collect(),
            weight: search.weight_total - search.badness.lost,
            steps: search.steps,
            exact: !deep && search.looks < search.looks_max,
        }
    }
}

/// Depth first through the lines, and through the sets of groups of each, with bounds.
struct Search<'a> {
    problem: &'a Problem,
    /// How many groups each line gets.
    counts: Vec<usize>,
    /// Per line and position: the links to earlier lines.
    back: Vec<Vec<Vec<Back>>>,
    /// Per line and position: whether it matters to another line which of two like groups is chosen.
    linked: Vec<Vec<bool>>,
    /// Per line: how much is looked at to weigh its groups.
    size: Vec<u64>,
    /// Per line and one more: the most weight that this and later lines could still add.
    hope: Vec<u64>,
    /// Per line and one more: how bad this and later lines are at least, links left aside.
    least: Vec<Badness>,
    weight_total: u64,
    /// What is chosen on the way to the present node.
    chosen: Vec<Vec<usize>>,
    /// Per line and position: the same.
    is_chosen: Vec<Vec<bool>>,
    /// Per line and position: the weight of the links to what is chosen for earlier lines.
    gains: Vec<Vec<u64>>,
    /// Per line, position and number: the most that so many groups from there on gain together. None where no group has links.
    most: Vec<Vec<u64>>,
    best: Vec<Vec<usize>>,
    badness: Badness,
    steps: u32,
    looks: u64,
    looks_max: u64,
}

/// What is chosen of a line.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// The next one comes from there on.
    from: usize,
    /// Whole indices of these groups.
    whole: u64,
    /// What is free of their used index that serves best for the fraction.
    part: Option<Amount>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem) -> Self {
        let best: Vec<Vec<usize>> = problem.needs.iter().map(Need::first).collect();
        let counts: Vec<usize> = best.iter().map(Vec::len).collect();
        let back = backwards(&problem.needs, &problem.links);
        let mut hope = vec![0; counts.len() + 1];
        let mut least = vec![Badness::default(); counts.len() + 1];
        for line in (0..counts.len()).rev() {
            hope[line] = hope[line + 1] + most_weight(&back[line], &counts, line);
            least[line] = least[line + 1].and(problem.needs[line].least(counts[line]));
        }
        let groups: usize = back.iter().map(Vec::len).sum();
        let mut search = Self {
            problem,
            linked: has_links(&back),
            size: back.iter().zip(&counts).map(|(line, count)| size(line, *count)).collect(),
            hope,
            least,
            weight_total: back.iter().flatten().flatten().map(|link| link.weight).sum(),
            chosen: vec![vec![]; counts.len()],
            is_chosen: back.iter().map(|line| vec![false; line.len()]).collect(),
            gains: vec![vec![]; counts.len()],
            most: vec![vec![]; counts.len()],
            counts,
            back,
            best,
            badness: Badness::default(),
            steps: 0,
            looks: 0,
            looks_max: if groups <= EXACT { u64::MAX } else { LOOKS_MAX },
        };
        search.badness = search.judge_first();
        search
    }

    /// How bad the choice is that the search starts with.
    fn judge_first(&mut self) -> Badness {
        let mut badness = Badness { lost: self.weight_total, ..Badness::default() };
        for (line, need) in self.problem.needs.iter().enumerate() {
            self.weigh(line);
            let mut part = None;
            for at in self.best[line].clone() {
                badness = badness.with_group(need.groups[at], self.gains[line][at]);
                part = least_part(part, need.groups[at].part);
                self.is_chosen[line][at] = true;
            }
            badness = badness.with_part(need, part);
        }
        self.is_chosen.iter_mut().for_each(|line| line.fill(false));
        badness
    }

    /// Notes what the groups of a line gain from what is chosen for the earlier ones.
    fn weigh(&mut self, line: usize) {
        let mut gains = std::mem::take(&mut self.gains[line]);
        gains.clear();
        let used = |link: &&Back| self.is_chosen[link.line][link.at];
        gains
            .extend(self.back[line].iter().map(|links| links.iter().filter(used).map(|link| link.weight).sum::<u64>()));
        if self.back[line].iter().any(|links| !links.is_empty()) {
            fill_most(&mut self.most[line], &gains, self.counts[line]);
        }
        self.gains[line] = gains;
        self.looks += self.size[line];
    }

    /// The most that `left` groups of a line from `at` on gain together.
    fn most(&self, line: usize, at: usize, left: usize) -> u64 {
        self.most[line].get(at * (self.counts[line] + 1) + left).copied().unwrap_or_default()
    }

    fn line(&mut self, line: usize, so_far: Badness) {
        if line < self.counts.len() {
            self.weigh(line);
            self.group(line, Taken::default(), so_far);
        } else if so_far < self.badness {
            self.badness = so_far;
            self.best.clone_from(&self.chosen);
        }
    }

    /// Chooses the rest of a line's groups.
    fn group(&mut self, line: usize, taken: Taken, so_far: Badness) {
        let need = &self.problem.needs[line];
        let left = self.counts[line] - self.chosen[line].len();
        if left == 0 {
            if taken.whole >= need.whole_needed(taken.part) {
                self.line(line + 1, so_far.with_part(need, taken.part));
            }
            return;
        }
        let end = need.groups.len();
        let smallest = need.upto[end] - need.upto[end - left];
        for at in taken.from..=end.saturating_sub(left) {
            if at > taken.from && self.is_same_again(line, at) {
                continue;
            }
            let part = least_part(taken.part, need.part_from[at]);
            let needed = need.whole_needed(part);
            if taken.whole + need.upto[at + left] - need.upto[at] < needed || self.looks >= self.looks_max {
                break;
            }
            self.steps += 1;
            self.looks += 1;
            let hope = self.hope[line + 1] + self.most(line, at, left);
            let rest = smallest.max(needed.saturating_sub(taken.whole));
            let bound = Badness { lost: so_far.lost.saturating_sub(hope), whole: so_far.whole + rest, ..so_far };
            if bound.with_part(need, part).and(self.least[line + 1]) >= self.badness {
                break;
            }
            let group = need.groups[at];
            let with = Taken {
                from: at + 1,
                whole: taken.whole + u64::from(group.whole),
                part: least_part(taken.part, group.part),
            };
            self.chosen[line].push(at);
            self.is_chosen[line][at] = true;
            self.group(line, with, so_far.with_group(group, self.gains[line][at]));
            self.is_chosen[line][at] = false;
            self.chosen[line].pop();
        }
    }

    /// Whether a group is as the one before it, so that it makes no difference which of both is chosen.
    fn is_same_again(&self, line: usize, at: usize) -> bool {
        let (a, b) = (self.problem.needs[line].groups[at - 1], self.problem.needs[line].groups[at]);
        (a.whole, a.part) == (b.whole, b.part) && !self.linked[line][at - 1] && !self.linked[line][at]
    }
}

/// How many groups, links and figures are looked at to weigh the groups of a line.
fn size(line: &[Vec<Back>], count: usize) -> u64 {
    let links: usize = line.iter().map(Vec::len).sum();
    (line.len() + links + if links > 0 { line.len() * count } else { 0 }) as u64
}

/// Per position and number up to `count`: the most that so many of the gains from there on are together.
fn fill_most(most: &mut Vec<u64>, gains: &[u64], count: usize) {
    let row = count + 1;
    most.clear();
    most.resize((gains.len() + 1) * row, 0);
    for (at, gain) in gains.iter().enumerate().rev() {
        for n in 1..row {
            let (without, with) = (most[(at + 1) * row + n], most[(at + 1) * row + n - 1] + gain);
            most[at * row + n] = without.max(with);
        }
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
