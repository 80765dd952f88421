//! What fits beside blocked tasks of a better queue without ever being in their way.

use hq_core::{ClassId, Request, WorkerId};

use crate::{Scheduler, pool::Pools, value::amount_on};

impl Scheduler {
    /// How many of `low` fit beside as many of `high` as possible, and all that is on the worker now but `high`.
    /// With several variants the least of all ways counts.
    pub(super) fn gap(&self, high: ClassId, low: ClassId, worker: WorkerId, pools: &Pools) -> u64 {
        let Some(known) = self.state.workers.get(&worker) else { return 0 };
        let (high_class, low_class) = (self.state.classes.get(high), self.state.classes.get(low));
        if high_class.is_gang() || low_class.is_gang() {
            return 0;
        }
        let names: Vec<&str> = known.config.resources.resources().iter().map(|def| def.name.as_str()).collect();
        let column = |request: &Request| Columns::of(request, &names, pools);
        let mut room: Vec<u64> = names.iter().map(|name| pools.total(name).parts()).collect();
        let mut present: Vec<u64> =
            names.iter().map(|name| pools.total(name).parts() - pools.free(name).parts()).collect();
        for lane in
            known.grants.iter().filter_map(|grant| self.state.grants.get(grant)).filter(|lane| lane.class == high)
        {
            for granted in &lane.allocation.0 {
                if let Some(i) = names.iter().position(|name| *name == granted.resource.as_str()) {
                    present[i] = present[i].saturating_sub(granted.amount.parts());
                }
            }
        }
        let highs: Vec<Columns> = high_class.requests.iter().filter_map(|request| column(request)).collect();
        let lows: Vec<Columns> = low_class.requests.iter().filter_map(|request| column(request)).collect();
        let mut best = Packed::default();
        pack(&highs, &mut room, 0, &mut best, &mut 4096, &|room| {
            let left: Vec<u64> = room.iter().zip(&present).map(|(room, used)| room.saturating_sub(*used)).collect();
            lows.iter().map(|low| low.count(&left)).min().unwrap_or(0)
        });
        best.gap.unwrap_or(0)
    }
}

/// What a request takes of each of a worker's resources.
struct Columns(Vec<u64>);

impl Columns {
    /// Nothing where the worker lacks one of the resources.
    fn of(request: &Request, names: &[&str], pools: &Pools) -> Option<Self> {
        let mut amounts = vec![0; names.len()];
        for entry in request.entries() {
            let name = entry.resource.as_str();
            let i = names.iter().position(|known| *known == name)?;
            amounts[i] = amount_on(pools, name, entry.quantity).parts();
        }
        Some(Self(amounts))
    }

    fn count(&self, room: &[u64]) -> u64 {
        let counts = self.0.iter().zip(room).filter(|(need, _)| **need > 0).map(|(need, room)| room / need);
        counts.min().unwrap_or(u64::MAX)
    }
}

#[derive(Default)]
struct Packed {
    most: u64,
    gap: Option<u64>,
}

/// All ways to pack as many as possible, by depth first with a budget; past it the gap is none.
fn pack(
    requests: &[Columns],
    room: &mut Vec<u64>,
    packed: u64,
    best: &mut Packed,
    budget: &mut u32,
    gap: &dyn Fn(&[u64]) -> u64,
) {
    if *budget == 0 {
        best.gap = Some(0);
        return;
    }
    *budget -= 1;
    let Some((request, rest)) = requests.split_first() else {
        if packed > best.most || best.gap.is_none() {
            *best = Packed { most: packed, gap: Some(gap(room)) };
        } else if packed == best.most {
            best.gap = best.gap.map(|known| known.min(gap(room)));
        }
        return;
    };
    let most = request.count(room);
    if most == u64::MAX {
        return pack(rest, room, packed, best, budget, gap);
    }
    let least = if rest.is_empty() { most } else { 0 };
    for n in (least..=most).rev() {
        let before = room.clone();
        for (room, need) in room.iter_mut().zip(&request.0) {
            *room -= need * n;
        }
        pack(rest, room, packed + n, best, budget, gap);
        *room = before;
        if *budget == 0 {
            return;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the vectors are a file")]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn columns(rows: &[&[u64]]) -> Vec<Columns> {
        rows.iter().map(|row| Columns(row.to_vec())).collect()
    }

    /// `5,foo=2` as columns in the order of `names`, the first of which is cpus.
    fn amounts(text: &str, names: &[&str]) -> Vec<u64> {
        let mut amounts = vec![0; names.len()];
        for (i, part) in text.split(',').enumerate() {
            let (name, amount) = part.split_once('=').unwrap_or(("cpus", part));
            assert!(i > 0 || name == "cpus", "{text}");
            amounts[names.iter().position(|known| *known == name).unwrap()] = amount.parse().unwrap();
        }
        amounts
    }

    /// The vectors of `testdata/gaps.txt`; `UPDATE=1` rewrites the results.
    #[test]
    fn gaps_as_specified() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gaps.txt");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut rewritten = String::new();
        for line in text.lines() {
            let cells: Vec<&str> = line.split(';').map(str::trim).collect();
            if line.starts_with('#') {
                writeln!(rewritten, "{line}").unwrap();
                continue;
            }
            let &[worker, high, low, _] = &cells[..] else { panic!("{line}") };
            let names = ["cpus", "foo", "bar"];
            let mut best = Packed::default();
            let highs: Vec<Columns> = high.split('|').map(|high| Columns(amounts(high, &names))).collect();
            let column = Columns(amounts(low, &names));
            pack(&highs, &mut amounts(worker, &names), 0, &mut best, &mut 4096, &|room| column.count(room));
            writeln!(rewritten, "{worker} ; {high} ; {low} ; {}", best.gap.unwrap()).unwrap();
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, rewritten).unwrap();
            return;
        }
        assert_eq!(rewritten, text);
    }

    #[test]
    fn too_many_ways_to_pack_leave_no_gap_and_take_no_time() {
        let mut best = Packed::default();
        let mut room = vec![1 << 50, 2];
        pack(&columns(&[&[1, 0], &[2, 1]]), &mut room, 0, &mut best, &mut 4096, &|_| 1);
        assert_eq!((best.gap, &room[..]), (Some(0), &[1 << 50, 2][..]));
    }
}
