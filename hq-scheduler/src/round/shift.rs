//! Exchanges between workers: a task goes elsewhere, or is run in another way, and another has its place.

use super::{
    looks::Looks,
    pack::{Offer, Pack},
};

/// A way on some worker: the site, and the item there.
type At = (usize, usize);

struct Shift<'a> {
    offers: &'a [Offer<'a>],
    kind_of: &'a [usize],
    /// The sites of each kind.
    sites: Vec<Vec<usize>>,
    /// The place of each site among those of its kind.
    place_of: Vec<usize>,
    /// The items of each class as kind and item, the most valuable first.
    ways: Vec<Vec<(usize, usize)>>,
    /// Before these of its kind no site has room for the item.
    from: Vec<Vec<usize>>,
}

/// One that goes elsewhere, and another that gets its place.
struct Move {
    gain: u64,
    to: At,
    /// The item that comes, and where that runs now unless it waits.
    comes: Option<(usize, Option<At>)>,
}

/// Lets tasks give their places to others and go elsewhere while that gains; says whether it did.
pub(super) fn shift(
    offers: &[Offer<'_>],
    kind_of: &[usize],
    packs: &mut [Pack],
    left: &mut [u64],
    looks: &mut Looks,
) -> bool {
    let mut sites = vec![vec![]; offers.len()];
    let mut place_of = Vec::with_capacity(kind_of.len());
    for (site, kind) in kind_of.iter().enumerate() {
        place_of.push(sites[*kind].len());
        sites[*kind].push(site);
    }
    let mut ways = vec![vec![]; left.len()];
    for (kind, offer) in offers.iter().enumerate() {
        offer.items.iter().enumerate().for_each(|(i, item)| ways[item.class].push((kind, i)));
    }
    let value = |(kind, i): &(usize, usize)| offers[*kind].items[*i].value;
    ways.iter_mut().for_each(|ways| ways.sort_by_key(|way| std::cmp::Reverse(value(way))));
    let from = offers.iter().map(|offer| vec![0; offer.items.len()]).collect();
    let mut shift = Shift { offers, kind_of, sites, place_of, ways, from };
    let mut gained = false;
    for site in 0..packs.len() {
        while !looks.is_over() && shift.one(site, packs, left, looks) {
            gained = true;
        }
    }
    gained
}

impl Shift<'_> {
    fn value(&self, (site, i): At) -> u64 {
        self.offers[self.kind_of[site]].items[i].value
    }

    /// Makes the first move at a site that gains.
    fn one(&mut self, site: usize, packs: &mut [Pack], left: &mut [u64], looks: &mut Looks) -> bool {
        let offer = &self.offers[self.kind_of[site]];
        for i in packs[site].used() {
            let Some(to) = self.place_for(offer.items[i].class, site, packs, looks) else { continue };
            let Some(less) = packs[site].without(offer, &[i], looks) else { continue };
            let Some(found) = self.best(site, i, to, &less, packs, left, looks) else { continue };
            return self.make(site, less, &found, packs, left, looks);
        }
        false
    }

    /// The best way to run one of a class at another site.
    fn place_for(&mut self, class: usize, site: usize, packs: &[Pack], looks: &mut Looks) -> Option<At> {
        for (kind, i) in &self.ways[class] {
            let item = &self.offers[*kind].items[*i];
            let has_room = |at: &usize| packs[*at].fits(item);
            let from = &mut self.from[*kind][*i];
            let sites = &self.sites[*kind];
            let tried = sites[*from..].iter().take_while(|at| !has_room(at)).count();
            *from += tried;
            looks.spend(tried as u64 + 1);
            let next = match sites.get(*from) {
                Some(first) if *first != site => Some(*first),
                Some(_) => {
                    let others = &sites[*from + 1..];
                    let tried = others.iter().take_while(|at| !has_room(at)).count();
                    looks.spend(tried as u64);
                    others.get(tried).copied()
                }
                None => None,
            };
            if let Some(at) = next {
                return Some((at, *i));
            }
        }
        None
    }

    /// What gains most if item `i` goes from the site, which then has so much `less` on it.
    #[expect(clippy::too_many_arguments, reason = "what a move depends on")]
    fn best(
        &self,
        site: usize,
        i: usize,
        to: At,
        less: &Pack,
        packs: &[Pack],
        left: &[u64],
        looks: &mut Looks,
    ) -> Option<Move> {
        let offer = &self.offers[self.kind_of[site]];
        let (class, before, after) = (offer.items[i].class, self.value((site, i)), self.value(to));
        let mut best = after.checked_sub(before).filter(|gain| *gain > 0).map(|gain| Move { gain, to, comes: None });
        for other in &offer.order {
            let item = &offer.items[*other];
            let most = (item.value.saturating_add(after)).saturating_sub(before);
            if most <= best.as_ref().map_or(0, |best| best.gain) {
                break;
            }
            looks.spend(1);
            if item.class == class || !less.fits(item) {
                continue;
            }
            let from = if left[item.class] > 0 { None } else { self.cheapest(item.class, packs, looks) };
            if left[item.class] == 0 && from.is_none_or(|(at, _)| at == site || at == to.0) {
                continue;
            }
            let gain = most.saturating_sub(from.map_or(0, |from| self.value(from)));
            if gain > best.as_ref().map_or(0, |best| best.gain) {
                best = Some(Move { gain, to, comes: Some((*other, from)) });
            }
        }
        best
    }

    /// Where one of a class runs in the least valuable way, if there are several.
    fn cheapest(&self, class: usize, packs: &[Pack], looks: &mut Looks) -> Option<At> {
        let ways = &self.ways[class];
        let value = |(kind, i): &(usize, usize)| self.offers[*kind].items[*i].value;
        let most = ways.first().map(value)?;
        for (kind, i) in ways.iter().rev().take_while(|way| value(way) < most) {
            looks.spend(self.sites[*kind].len() as u64);
            if let Some(site) = self.sites[*kind].iter().find(|site| packs[**site].counts[*i] > 0) {
                return Some((*site, *i));
            }
        }
        None
    }

    /// Makes a move; says whether it could.
    fn make(
        &mut self,
        site: usize,
        less: Pack,
        found: &Move,
        packs: &mut [Pack],
        left: &mut [u64],
        looks: &mut Looks,
    ) -> bool {
        let offer = |site: usize| &self.offers[self.kind_of[site]];
        let (to, goes_to) = found.to;
        if let Some((item, from)) = found.comes {
            match from {
                Some((other, i)) => {
                    let Some(without) = packs[other].without(offer(other), &[i], looks) else { return false };
                    packs[other] = without;
                }
                None => left[offer(site).items[item].class] -= 1,
            }
            packs[site] = less;
            packs[site].add(offer(site), item, 1);
        } else {
            packs[site] = less;
        }
        packs[to].add(offer(to), goes_to, 1);
        self.has_new_room(site, looks);
        if let Some((_, Some((other, _)))) = found.comes {
            self.has_new_room(other, looks);
        }
        true
    }

    fn has_new_room(&mut self, site: usize, looks: &mut Looks) {
        let from = &mut self.from[self.kind_of[site]];
        looks.spend(from.len() as u64);
        from.iter_mut().for_each(|from| *from = (*from).min(self.place_of[site]));
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, ResourceDef, ResourceEntry, WorkerResources};

    use super::{super::pack::Item, *};
    use crate::pool::{Pools, Room};

    fn item(pools: &Pools, class: usize, text: &str, value: u64) -> Item {
        let entries = text.split(',').map(|entry| ResourceEntry::parse(entry).unwrap()).collect();
        Item { class, need: pools.need(&Request::new(entries).unwrap()).unwrap(), value }
    }

    /// What could run without a GPU has one, and what could not waits; there is another worker without GPUs.
    #[test]
    fn a_task_makes_room_for_another_and_runs_in_another_way() {
        let gpu = ResourceDef::parse("gpus=range(0-0)").unwrap();
        let cpus = |n: &str| ResourceDef::parse_cpus(n).unwrap();
        let [with, without] = [vec![cpus("2"), gpu], vec![cpus("2")]]
            .map(|defs| Pools::new(&WorkerResources::new(defs, vec![]).unwrap()));
        let items = [
            vec![item(&with, 0, "cpus=1,gpus=1", 5), item(&with, 1, "cpus=2,gpus=1", 6)],
            vec![item(&without, 0, "cpus=2", 4)],
        ];
        let rooms: [Room; 2] = [with.room(), without.room()];
        let offers: Vec<Offer<'_>> =
            items.iter().zip(&rooms).map(|(items, room)| Offer::new(items, room, |_| 0)).collect();
        let mut packs: Vec<Pack> = offers.iter().map(|offer| offer.empty(10)).collect();
        assert_eq!(packs[0].add(&offers[0], 0, 1), 1);
        let (mut left, mut looks) = (vec![0, 1], Looks::for_level());
        assert!(shift(&offers, &[0, 1], &mut packs, &mut left, &mut looks));
        let counts: Vec<&[u64]> = packs.iter().map(|pack| &pack.counts[..]).collect();
        assert_eq!(counts, [&[0, 1][..], &[1]]);
        assert_eq!(left, [0, 0]);
        assert!(!shift(&offers, &[0, 1], &mut packs, &mut left, &mut looks), "nothing is left to gain");
    }

    /// What one move takes among so many sites, of which only the last one has room for what goes elsewhere.
    fn looks_among(sites: usize, classes: usize) -> u64 {
        let pools = Pools::new(&WorkerResources::cpus(2).unwrap());
        let room = pools.room();
        let mut items = vec![item(&pools, 0, "cpus=1", 1), item(&pools, 1, "cpus=2", 5)];
        items.extend((2..classes).map(|class| item(&pools, class, "cpus=2", 1)));
        let offers = [Offer::new(&items, &room, |_| 0)];
        let mut packs: Vec<Pack> = (0..sites).map(|_| offers[0].empty(10)).collect();
        packs[0].add(&offers[0], 0, 1);
        packs[1..sites - 1].iter_mut().for_each(|pack| _ = pack.add(&offers[0], 0, 2));
        let (mut left, mut looks) = (vec![0; classes], Looks::for_level());
        left[1] = 1;
        assert!(shift(&offers, &vec![0; sites], &mut packs, &mut left, &mut looks));
        assert_eq!((packs[0].counts[1], packs[sites - 1].counts[0]), (1, 1));
        looks.used()
    }

    /// Sites that are tried, and all that a move makes look anew, are counted.
    #[test]
    fn moves_are_counted() {
        assert!(looks_among(200, 2) >= looks_among(20, 2) + 180);
        assert!(looks_among(20, 200) >= looks_among(20, 20) + 180);
    }
}
