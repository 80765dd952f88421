//! Couplings as the search sees them.

use std::collections::BTreeMap;

use super::need::Need;

/// Two groups of different lines that had better both be chosen. No pair has two links.
#[derive(Debug)]
pub(super) struct Link {
    /// Line and group.
    pub(super) a: (usize, usize),
    /// Line and group.
    pub(super) b: (usize, usize),
    pub(super) weight: u64,
}

/// A link to an earlier line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Back {
    pub(super) line: usize,
    /// The position of the group there.
    pub(super) at: usize,
    pub(super) weight: u64,
}

/// Per line and position of a group: its links to earlier lines. Groups with nothing to give have none.
pub(super) fn backwards(needs: &[Need], links: &[Link]) -> Vec<Vec<Vec<Back>>> {
    let mut back: Vec<Vec<Vec<_>>> = needs.iter().map(|need| vec![vec![]; need.groups.len()]).collect();
    let positions: Vec<BTreeMap<usize, usize>> = needs
        .iter()
        .map(|need| need.groups.iter().enumerate().map(|(position, group)| (group.at, position)).collect())
        .collect();
    let position = |(line, group): (usize, usize)| Some((line, *positions[line].get(&group)?));
    for link in links {
        if let (Some(a), Some(b)) = (position(link.a), position(link.b)) {
            let (early, late) = (a.min(b), a.max(b));
            back[late.0][late.1].push(Back { line: early.0, at: early.1, weight: link.weight });
        }
    }
    back
}

/// Per line and position: whether the group has any link.
pub(super) fn has_links(back: &[Vec<Vec<Back>>]) -> Vec<Vec<bool>> {
    let mut linked: Vec<Vec<bool>> =
        back.iter().map(|line| line.iter().map(|links| !links.is_empty()).collect()).collect();
    for link in back.iter().flatten().flatten() {
        linked[link.line][link.at] = true;
    }
    linked
}

/// The most weight that links of a line to earlier ones can have: of the best groups to the best groups.
pub(super) fn most_weight(back: &[Vec<Back>], counts: &[usize], line: usize) -> u64 {
    let group = |links: &Vec<Back>| {
        let mut to = vec![vec![]; line];
        for link in links {
            to[link.line].push(link.weight);
        }
        to.into_iter().zip(counts).map(|(weights, count)| best_of(weights, *count)).sum()
    };
    best_of(back.iter().map(group).collect(), counts[line])
}

fn best_of(mut weights: Vec<u64>, count: usize) -> u64 {
    weights.sort_unstable_by(|a, b| b.cmp(a));
    weights.into_iter().take(count).sum()
}
