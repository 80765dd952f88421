use std::collections::BTreeMap;

use hq_core::Amount;

/// Up to that many groups in all lines together the search always ends: it takes fewer steps than there are sets.
const EXACT: usize = 16;
/// Beyond `EXACT`, the search is content after so many steps, each of which may look at all groups, with the best it
/// has found.
const fn steps_max(groups: usize) -> u32 {
    if groups <= EXACT { u32::MAX } else { ((1 << 20) / groups) as u32 }
}
/// Beyond that many groups to be chosen in all there is no search: its depth is bounded, and so is the stack.
const DEPTH_MAX: usize = 512;

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
    units: u64,
    fraction: bool,
    /// The larger the earlier, then in order; only those that have something to give.
    groups: Vec<Group>,
    /// How many whole indices the first so many groups have.
    upto: Vec<u64>,
    /// Whether a group from here on serves for the fraction.
    part_from: Vec<bool>,
}

/// Two groups of different lines that had better both be chosen.
#[derive(Debug)]
pub(super) struct Link {
    /// Line and group.
    pub(super) a: (usize, usize),
    /// Line and group.
    pub(super) b: (usize, usize),
    pub(super) weight: u64,
}

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
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests print it"))]
    pub(super) steps: u32,
}

/// How bad a choice is, the most important first. The number of groups is no part of it, as it is the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Badness {
    /// Weight of the links that are not used.
    lost: u64,
    /// Lines whose fraction needs a whole index to be cut.
    cuts: u32,
    /// Whole indices in the chosen groups: the fewer, the better they are filled.
    whole: u64,
    /// What is free of the used indices that serve for fractions.
    part: u64,
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
        let mut part_from = vec![false; groups.len() + 1];
        for at in (0..groups.len()).rev() {
            part_from[at] = part_from[at + 1] || groups[at].part.is_some();
        }
        Self { units: amount.whole(), fraction: amount.fraction() > 0, groups, upto, part_from }
    }

    /// How many whole indices are needed, one more where the fraction has to be cut from one.
    const fn whole_needed(&self, part: bool) -> u64 {
        if self.fraction && !part { self.units + 1 } else { self.units }
    }

    /// The least number of groups that suffice.
    pub(super) fn fewest(&self) -> usize {
        self.first().len()
    }

    /// Some least set of groups that suffices, as positions: the largest ones, or with one of them replaced by the
    /// largest one that serves for the fraction, where this needs fewer.
    fn first(&self) -> Vec<usize> {
        let largest = self.upto.partition_point(|sum| *sum < self.whole_needed(false));
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

    /// How many whole indices any sufficient set has at least.
    fn least_whole(&self, count: usize) -> u64 {
        let smallest = self.upto[self.groups.len()] - self.upto[self.groups.len() - count];
        smallest.max(self.whole_needed(self.part_from[0]))
    }
}

impl Problem {
    /// The best choice among those with the fewest groups for each line.
    ///
    /// Exact up to 16 groups, and in most cases far beyond; in the others sound, only perhaps not the best.
    pub(super) fn solve(&self) -> Best {
        let mut search = Search::new(self);
        if search.counts.iter().sum::<usize>() <= DEPTH_MAX {
            search.line(0, Badness { lost: search.weight_total, ..Badness::default() });
        }
        let groups = self.needs.iter().zip(&search.best).map(|(need, chosen)| {
            let mut groups: Vec<usize> = chosen.iter().map(|at| need.groups[*at].at).collect();
            groups.sort_unstable();
            groups
        });
        Best { groups: groups.collect(), weight: search.weight_total - search.badness.lost, steps: search.steps }
    }
}

/// A link to an earlier line: the line, the position of the group there, the weight.
type Back = (usize, usize, u64);

/// Depth first through the lines, and through the sets of groups of each, with bounds.
struct Search<'a> {
    problem: &'a Problem,
    /// How many groups each line gets.
    counts: Vec<usize>,
    /// Per line and position: the links to earlier lines.
    back: Vec<Vec<Vec<Back>>>,
    /// Per line and position: whether it matters to another line which of two like groups is chosen.
    linked: Vec<Vec<bool>>,
    /// Per line and one more: the most weight that this and later lines could still add.
    hope: Vec<u64>,
    /// Per line and one more: the least number of whole indices in the groups of this and later lines.
    least: Vec<u64>,
    weight_total: u64,
    /// What is chosen on the way to the present node.
    chosen: Vec<Vec<usize>>,
    best: Vec<Vec<usize>>,
    badness: Badness,
    steps: u32,
    steps_max: u32,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem) -> Self {
        let best: Vec<Vec<usize>> = problem.needs.iter().map(Need::first).collect();
        let counts: Vec<usize> = best.iter().map(Vec::len).collect();
        let back = links_back(problem);
        let mut hope = vec![0; counts.len() + 1];
        let mut least = vec![0; counts.len() + 1];
        for line in (0..counts.len()).rev() {
            hope[line] = hope[line + 1] + most_weight(&back[line], &counts, line);
            least[line] = least[line + 1] + problem.needs[line].least_whole(counts[line]);
        }
        let linked = linked(&back);
        let groups = problem.needs.iter().map(|need| need.groups.len()).sum::<usize>();
        let steps_max = steps_max(groups);
        let weight_total = back.iter().flatten().flatten().map(|(_, _, weight)| weight).sum();
        let chosen = vec![vec![]; counts.len()];
        let badness = Badness::default();
        let mut search = Self {
            problem,
            counts,
            back,
            linked,
            hope,
            least,
            weight_total,
            chosen,
            best,
            badness,
            steps: 0,
            steps_max,
        };
        search.badness = search.judge_first();
        search
    }

    /// How bad the choice is that the search starts with.
    fn judge_first(&mut self) -> Badness {
        let mut badness = Badness { lost: self.weight_total, ..Badness::default() };
        for line in 0..self.counts.len() {
            self.chosen[line].clone_from(&self.best[line]);
            for at in &self.best[line] {
                badness.lost -= self.gain(line, *at);
                badness.whole += u64::from(self.problem.needs[line].groups[*at].whole);
            }
            badness = self.close(line, badness);
        }
        self.chosen.iter_mut().for_each(Vec::clear);
        badness
    }

    /// The weight of the links from a group to what is chosen for earlier lines.
    fn gain(&self, line: usize, at: usize) -> u64 {
        let used = self.back[line][at].iter().filter(|(line, at, _)| self.chosen[*line].contains(at));
        used.map(|(_, _, weight)| weight).sum()
    }

    /// Adds what is known only once all groups of a line are chosen.
    fn close(&self, line: usize, mut badness: Badness) -> Badness {
        let need = &self.problem.needs[line];
        if need.fraction {
            match self.part(line) {
                Some(part) => badness.part += part.parts(),
                None => badness.cuts += 1,
            }
        }
        badness
    }

    fn part(&self, line: usize) -> Option<Amount> {
        self.chosen[line].iter().filter_map(|at| self.problem.needs[line].groups[*at].part).min()
    }

    fn line(&mut self, line: usize, so_far: Badness) {
        if line < self.counts.len() {
            return self.group(line, 0, 0, so_far);
        }
        if so_far < self.badness {
            self.badness = so_far;
            self.best.clone_from(&self.chosen);
        }
    }

    /// Chooses the rest of a line's groups from position `from` on; `whole` is what the ones chosen already have.
    fn group(&mut self, line: usize, from: usize, whole: u64, so_far: Badness) {
        let need = &self.problem.needs[line];
        let left = self.counts[line] - self.chosen[line].len();
        if left == 0 {
            if whole >= need.whole_needed(self.part(line).is_some()) {
                self.line(line + 1, self.close(line, so_far));
            }
            return;
        }
        let end = need.groups.len();
        let served = self.part(line).is_some();
        let gains: Vec<u64> = (from..end).map(|at| self.gain(line, at)).collect();
        for at in from..=end.saturating_sub(left) {
            // The same again, with a higher number.
            let like = |a: &Group, b: &Group| (a.whole, a.part) == (b.whole, b.part);
            let linked = |at: usize| self.linked[line][at];
            if at > from && like(&need.groups[at - 1], &need.groups[at]) && !linked(at - 1) && !linked(at) {
                continue;
            }
            let needed = need.whole_needed(served || need.part_from[at]);
            if whole + need.upto[at + left] - need.upto[at] < needed {
                break;
            }
            if self.steps >= self.steps_max {
                return;
            }
            self.steps += 1;
            let gain = gains[at - from..].iter().max().copied().unwrap_or_default();
            let hope = self.hope[line + 1] + left as u64 * gain;
            let smallest = need.upto[end] - need.upto[end - left];
            let rest = smallest.max(needed.saturating_sub(whole));
            let bound = Badness {
                lost: so_far.lost.saturating_sub(hope),
                whole: so_far.whole + rest + self.least[line + 1],
                ..so_far
            };
            if bound >= self.badness {
                break;
            }
            let group = need.groups[at];
            let with = Badness {
                lost: so_far.lost - gains[at - from],
                whole: so_far.whole + u64::from(group.whole),
                ..so_far
            };
            self.chosen[line].push(at);
            self.group(line, at + 1, whole + u64::from(group.whole), with);
            self.chosen[line].pop();
        }
    }
}

fn links_back(problem: &Problem) -> Vec<Vec<Vec<Back>>> {
    let mut back: Vec<Vec<Vec<_>>> = problem.needs.iter().map(|need| vec![vec![]; need.groups.len()]).collect();
    let positions: Vec<BTreeMap<usize, usize>> = problem
        .needs
        .iter()
        .map(|need| need.groups.iter().enumerate().map(|(position, group)| (group.at, position)).collect())
        .collect();
    let position = |(line, group): (usize, usize)| Some((line, *positions[line].get(&group)?));
    for link in &problem.links {
        if let (Some(a), Some(b)) = (position(link.a), position(link.b)) {
            let (early, late) = (a.min(b), a.max(b));
            let links: &mut Vec<Back> = &mut back[late.0][late.1];
            // A pair that is named twice is one link, which the bounds rely on.
            match links.iter_mut().find(|(line, at, _)| (*line, *at) == early) {
                Some((_, _, weight)) => *weight += link.weight,
                None => links.push((early.0, early.1, link.weight)),
            }
        }
    }
    back
}

fn linked(back: &[Vec<Vec<Back>>]) -> Vec<Vec<bool>> {
    let mut linked: Vec<Vec<bool>> =
        back.iter().map(|line| line.iter().map(|links| !links.is_empty()).collect()).collect();
    for (line, at, _) in back.iter().flatten().flatten() {
        linked[*line][*at] = true;
    }
    linked
}

/// The most weight that links of a line to earlier ones can have: of the best groups to the best groups.
fn most_weight(back: &[Vec<Back>], counts: &[usize], line: usize) -> u64 {
    let best_of = |mut weights: Vec<u64>, count: usize| {
        weights.sort_unstable_by(|a, b| b.cmp(a));
        weights.into_iter().take(count).sum::<u64>()
    };
    let group = |links: &Vec<Back>| {
        let to = |early: usize| links.iter().filter(move |(line, _, _)| *line == early).map(|(_, _, weight)| *weight);
        (0..line).map(|early| best_of(to(early).collect(), counts[early])).sum()
    };
    best_of(back.iter().map(group).collect(), counts[line])
}

#[cfg(test)]
mod tests {
    use hq_core::Rng;

    use super::*;

    fn random(rng: &mut Rng, lines: usize, groups: usize, whole_max: u64) -> Problem {
        let needs = (0..lines).map(|_| {
            let part = rng.chance(50);
            let groups: Vec<Group> = (0..groups)
                .map(|at| {
                    let free = (part && rng.chance(30)).then(|| Amount::from_parts(rng.range(5_000, 9_999)));
                    Group { at, whole: rng.below(whole_max + 1) as u32, part: free }
                })
                .collect();
            let all: u64 = groups.iter().map(|group| u64::from(group.whole)).sum();
            let parts = rng.below(all.max(1)) * Amount::PARTS + if part { 5_000 } else { 0 };
            Need::new(Amount::from_parts(parts.max(1)), groups)
        });
        let needs = needs.collect();
        let mut links = vec![];
        for (a, b) in (0..lines).flat_map(|a| (a + 1..lines).map(move |b| (a, b))) {
            for at in 0..groups {
                let weight = *rng.pick(&[1, 64, 128, 256, 256]);
                links.push(Link { a: (a, at), b: (b, rng.below(groups as u64) as usize), weight });
                links.push(Link { a: (a, at), b: (b, at), weight: 256 });
            }
        }
        Problem { needs, links }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the figures are for people")]
    fn sixteen_groups_take_few_steps() {
        for (lines, groups, bound) in [(1, 16, 1 << 16), (2, 8, 1 << 16), (4, 4, 1 << 16), (8, 2, 1 << 16), (16, 1, 16)]
        {
            let mut rng = Rng::new(16);
            let worst = (0..200).map(|_| random(&mut rng, lines, groups, 8).solve().steps).max();
            println!("{lines} lines of {groups} groups: at most {worst:?} steps");
            assert!(worst <= Some(bound));
        }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the figures are for people")]
    fn beyond_that_the_search_ends() {
        for (lines, groups, whole_max) in [(1, 64, 128), (2, 64, 64), (3, 32, 64), (2, 4096, 64), (1, 4096, 200)] {
            let mut rng = Rng::new(64);
            let mut worst = 0;
            for _ in 0..2 {
                let problem = random(&mut rng, lines, groups, whole_max);
                let best = problem.solve();
                worst = worst.max(best.steps);
                assert!(best.steps <= steps_max(lines * groups / 2));
                for (need, chosen) in problem.needs.iter().zip(&best.groups) {
                    let of: Vec<&Group> = need.groups.iter().filter(|group| chosen.contains(&group.at)).collect();
                    let whole: u64 = of.iter().map(|group| u64::from(group.whole)).sum();
                    assert_eq!(chosen.len(), need.fewest());
                    assert!(whole >= need.whole_needed(of.iter().any(|group| group.part.is_some())));
                }
            }
            println!("{lines} lines of {groups} groups: at most {worst} steps");
        }
    }
}
