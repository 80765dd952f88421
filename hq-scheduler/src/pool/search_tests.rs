//! The search against all sets of groups, and how many steps it takes: counts, which hold on any machine.

use hq_core::{Amount, Rng};

use super::{super::need::Group, *};

/// Which groups are linked, and how much.
#[derive(Clone, Copy, Debug)]
enum Links {
    None,
    /// Each group with the group of the same number, equally: sockets and their devices.
    Pairwise,
    /// The same, and every other pair a little.
    Near,
    /// All pairs equally: nothing to choose by.
    All,
    /// All pairs, each by chance.
    Random,
    /// Two or three of each group.
    Some,
}

const LINKS: [Links; 6] = [Links::None, Links::Pairwise, Links::Near, Links::All, Links::Random, Links::Some];

/// The cases of a table; the smallest ones where each takes minutes.
fn table<T: Copy, const N: usize>(cases: [T; N], small: usize) -> Vec<T> {
    cases[..if cfg!(miri) { small } else { N }].to_vec()
}

/// How often to try.
const fn times(n: u32) -> u32 {
    if cfg!(miri) { 1 } else { n }
}

fn random(rng: &mut Rng, lines: usize, groups: usize, whole_max: u64, links: Links) -> Problem {
    // Often all groups are alike, as on an idle worker.
    let alike = rng.chance(25).then(|| 1 + rng.below(whole_max) as u32);
    let needs = (0..lines).map(|_| {
        let part = rng.chance(50);
        let groups: Vec<Group> = (0..groups)
            .map(|at| {
                let free = (part && rng.chance(30)).then(|| Amount::from_parts(rng.range(5_000, 9_999)));
                Group { at, whole: alike.unwrap_or_else(|| rng.below(whole_max + 1) as u32), part: free }
            })
            .collect();
        let all: u64 = groups.iter().map(|group| u64::from(group.whole)).sum();
        let parts = rng.below(all.max(1)) * Amount::PARTS + if part { 5_000 } else { 0 };
        Need::new(Amount::from_parts(parts.max(1)), groups)
    });
    let needs = needs.collect();
    let mut problem = Problem { needs, links: vec![] };
    for (a, b) in (0..lines).flat_map(|a| (a + 1..lines).map(move |b| (a, b))) {
        for (i, j) in (0..groups).flat_map(|i| (0..groups).map(move |j| (i, j))) {
            let weight = match links {
                Links::None => 0,
                Links::Pairwise => u64::from(i == j) * 256,
                Links::Near if i == j => 256,
                Links::Near => 1 + rng.below(8),
                Links::All => 256,
                Links::Random => 1 + rng.below(256),
                Links::Some => u64::from(rng.below(groups as u64) < 3) * *rng.pick(&[1, 64, 128, 256, 256]),
            };
            if weight > 0 {
                problem.links.push(Link { a: (a, i), b: (b, j), weight });
            }
        }
    }
    problem
}

/// The least badness of all combinations of sufficient sets of the least size, and that size for each line.
fn all_sets(problem: &Problem) -> (Badness, Vec<usize>) {
    let sets = |need: &Need| -> Vec<u32> {
        let suffices = |set: &u32| {
            let chosen = || need.groups.iter().filter(move |group| set & (1 << group.at) != 0);
            let whole: u64 = chosen().map(|group| u64::from(group.whole)).sum();
            let cut = need.fraction && chosen().all(|group| group.part.is_none());
            // Groups with nothing to give are in no set.
            chosen().count() == set.count_ones() as usize && whole >= need.units + u64::from(cut)
        };
        let end = need.groups.iter().map(|group| 2 << group.at).max().unwrap_or(1);
        let sets: Vec<u32> = (0..end).filter(suffices).collect();
        let least = sets.iter().map(|set| set.count_ones()).min();
        sets.into_iter().filter(|set| Some(set.count_ones()) == least).collect()
    };
    let sets: Vec<Vec<u32>> = problem.needs.iter().map(sets).collect();
    let sizes = sets.iter().map(|sets| sets[0].count_ones() as usize).collect();
    let mut best: Option<Badness> = None;
    let mut combination = vec![0; sets.len()];
    loop {
        let chosen: Vec<u32> = combination.iter().zip(&sets).map(|(at, sets)| sets[*at]).collect();
        let badness = judge(problem, &chosen);
        best = Some(best.map_or(badness, |best| best.min(badness)));
        let Some(line) = (0..sets.len()).find(|line| combination[*line] + 1 < sets[*line].len()) else { break };
        combination[..line].fill(0);
        combination[line] += 1;
    }
    (best.unwrap(), sizes)
}

fn judge(problem: &Problem, chosen: &[u32]) -> Badness {
    let has = |(line, group): (usize, usize)| chosen[line] & (1 << group) != 0;
    // A link to a group with nothing to give is none.
    let exists = |(line, group): (usize, usize)| problem.needs[line].groups.iter().any(|known| known.at == group);
    let links = problem.links.iter().filter(|link| exists(link.a) && exists(link.b));
    let lost = links.filter(|link| !(has(link.a) && has(link.b))).map(|link| link.weight).sum();
    let mut badness = Badness { lost, ..Badness::default() };
    for (line, need) in problem.needs.iter().enumerate() {
        let of: Vec<&Group> = need.groups.iter().filter(|group| has((line, group.at))).collect();
        badness.whole += of.iter().map(|group| u64::from(group.whole)).sum::<u64>();
        match of.iter().filter_map(|group| group.part).min() {
            Some(part) if need.fraction => badness.part += part.parts(),
            None if need.fraction => badness.cuts += 1,
            _ => {}
        }
    }
    badness
}

#[test]
fn the_best_of_all_sets_is_found() {
    for (lines, groups) in table([(1, 6), (3, 3), (5, 2), (1, 10), (2, 6), (2, 5), (3, 4), (4, 3)], 3) {
        for links in LINKS {
            let mut rng = Rng::new(lines as u64 * 100 + groups as u64);
            for nth in 0..times(60) {
                let problem = random(&mut rng, lines, groups, 4, links);
                if problem.needs.iter().any(|need| need.groups.is_empty()) {
                    continue; // Nothing is free of it: it is not asked.
                }
                let found = problem.solve();
                let (best, sizes) = all_sets(&problem);
                let chosen: Vec<u32> =
                    found.groups.iter().map(|groups| groups.iter().fold(0, |set, at| set | 1 << at)).collect();
                let place = format!("{lines} lines of {groups} groups, {links:?}, number {nth}");
                assert_eq!(judge(&problem, &chosen), best, "{place}");
                assert_eq!(found.groups.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "{place}");
            }
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are for people")]
fn sixteen_groups_take_few_steps() {
    for (lines, groups, bound) in [(1, 16, 512), (2, 8, 512), (4, 4, 512), (8, 2, 512), (16, 1, 16)] {
        let mut rng = Rng::new(16);
        let mut worst = (0, LINKS[0]);
        for links in LINKS {
            for _ in 0..times(200) {
                let steps = random(&mut rng, lines, groups, 8, links).solve().steps;
                worst = if steps > worst.0 { (steps, links) } else { worst };
            }
        }
        println!("{lines} lines of {groups} groups: at most {} steps ({:?})", worst.0, worst.1);
        assert!(worst.0 <= bound);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a search that goes to its bound takes miri ten minutes; the tests above walk the same code")]
#[expect(clippy::print_stdout, reason = "the figures are for people")]
fn beyond_that_the_search_ends_with_what_suffices() {
    let cases = [(3, 8, 8), (1, 64, 128), (2, 12, 8), (2, 16, 8), (4, 8, 8), (2, 64, 64), (3, 32, 64), (1, 4096, 200)];
    for (lines, groups, whole_max) in table(cases, 2) {
        let mut rng = Rng::new(64);
        let (mut worst, mut runs, mut exact) = (0, 0, 0);
        for links in LINKS {
            for _ in 0..times(2) {
                let problem = random(&mut rng, lines, groups, whole_max, links);
                let best = problem.solve();
                worst = worst.max(best.steps);
                runs += 1;
                exact += u32::from(best.exact);
                for (need, chosen) in problem.needs.iter().zip(&best.groups) {
                    let of: Vec<&Group> = need.groups.iter().filter(|group| chosen.contains(&group.at)).collect();
                    let whole: u64 = of.iter().map(|group| u64::from(group.whole)).sum();
                    let part = of.iter().filter_map(|group| group.part).min();
                    assert_eq!(chosen.len(), need.fewest());
                    assert!(whole >= need.whole_needed(part));
                }
            }
        }
        println!("{lines} lines of {groups} groups: at most {worst} steps, {exact} of {runs} exact");
        assert!(u64::from(worst) <= LOOKS_MAX);
    }
}
