//! Prices of tasks that run out, found by trial: what others forgo for one of them.
//!
//! The classes' tasks are the goods and the workers bid for them. One worker after the other takes what gains most above
//! its price; then the price of a class rises by how much more than its fair share of what is left was taken, and falls where it was
//! less. So equal workers do not all take the same, and what is scarce goes where it is worth most. This is *dual mirror descent*
//! for online allocation (Balseiro, Lu, Mirrokni: Dual Mirror Descent for Online Allocation Problems, ICML 2020), on integers. First
//! prices are found on a sample of workers that gets nothing, in rounds of ever smaller steps, then all get something. At last tasks
//! change places as long as that gains (`shift.rs`).

use std::{collections::BTreeMap, rc::Rc};

use super::{
    assign::Site,
    combine::Weights,
    looks::Looks,
    pack::{Item, Offer, Pack},
    prices::Shares,
    shift::shift,
};
use crate::pool::Room;

/// So often prices are tried on a sample, and so many workers are in it at most.
const TRIALS: u64 = 12;
const SAMPLE_MAX: usize = 64;
/// A step is the class's worth divided by this, and by the number of the trial.
const STEP: u64 = 2;
/// One task, where shares of tasks are counted.
const ONE: u128 = 1 << 16;
/// So often at most all are looked at for exchanges.
const EXCHANGES: usize = 4;

/// Workers that are alike.
pub(super) struct Kind {
    /// In the order of its ways.
    pub(super) items: Vec<Item>,
    pub(super) room: Room,
    weights: Weights,
}

impl Kind {
    pub(super) fn new(site: &Site<'_>) -> Option<Self> {
        let item = |way: &super::fill::Way<'_>| {
            Some(Item { class: way.class, need: site.pools.need(way.request)?, value: way.value })
        };
        let items = site.ways.iter().map(item).collect::<Option<Vec<Item>>>()?;
        let room = site.pools.room();
        Some(Self { items, weights: Weights::new(&room), room })
    }
}

/// The sites, of which kind each is, and the order in which they are asked.
struct Bidders<'a> {
    sites: &'a [Site<'a>],
    kind_of: &'a [usize],
    order: Vec<usize>,
}

/// How many of each way each site gets, and what that is worth; as far as amounts say.
pub(super) fn auction(sites: &[Site<'_>], left: &[u64], looks: &mut Looks) -> Option<(Shares, u64)> {
    let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut kind_of = Vec::with_capacity(sites.len());
    for site in sites {
        let kind = match groups.get(&site.group) {
            Some(kind) => *kind,
            None => {
                kinds.push(Kind::new(site)?);
                groups.insert(site.group, kinds.len() - 1);
                kinds.len() - 1
            }
        };
        kind_of.push(kind);
    }
    let mut prices = Prices::new(&kinds, left.len());
    let bidders = Bidders { sites, order: mixed(&kind_of, kinds.len()), kind_of: &kind_of };
    looks.part(looks.left() / 8, |looks| prices.find(&bidders, left, &mut kinds, looks));
    let (mut packs, mut rest) =
        looks.part(looks.left() / 4 * 3, |looks| prices.sell(&bidders, left, &mut kinds, looks));
    let offers: Vec<Offer<'_>> = kinds.iter().map(|kind| Offer::new(&kind.items, &kind.room, |_| 0)).collect();
    for (pack, kind) in packs.iter_mut().zip(&kind_of) {
        pack.appraise(&offers[*kind]);
    }
    for _ in 0..EXCHANGES {
        let mut gained = shift(&offers, &kind_of, &mut packs, &mut rest, looks);
        for (pack, kind) in packs.iter_mut().zip(&kind_of) {
            gained |= pack.exchange(&offers[*kind], &mut rest, looks);
        }
        if !gained || looks.is_over() {
            break;
        }
    }
    let value = packs.iter().map(|pack| pack.gain).fold(0, u64::saturating_add);
    Some((packs.into_iter().map(|pack| Rc::new(pack.counts)).collect(), value))
}

/// All sites, in an order in which kinds are mixed evenly.
fn mixed(kind_of: &[usize], kinds: usize) -> Vec<usize> {
    let mut count: Vec<u64> = vec![0; kinds];
    kind_of.iter().for_each(|kind| count[*kind] += 1);
    let mut seen: Vec<u64> = vec![0; kinds];
    let mut order: Vec<(u64, usize)> = Vec::with_capacity(kind_of.len());
    for (at, kind) in kind_of.iter().enumerate() {
        order.push((((2 * seen[*kind] + 1) << 32) / count[*kind], at));
        seen[*kind] += 1;
    }
    order.sort_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}

/// Of one task of each class.
struct Prices {
    of: Vec<u64>,
    /// The most that one can be worth.
    worth: Vec<u64>,
}

impl Prices {
    fn new(kinds: &[Kind], classes: usize) -> Self {
        let mut worth = vec![0; classes];
        for item in kinds.iter().flat_map(|kind| &kind.items) {
            worth[item.class] = item.value.max(worth[item.class]);
        }
        Self { of: vec![0; classes], worth }
    }

    /// Finds prices on a sample of the sites.
    fn find(&mut self, bidders: &Bidders<'_>, left: &[u64], kinds: &mut [Kind], looks: &mut Looks) {
        let all = bidders.sites.len();
        let sample = all.min(SAMPLE_MAX);
        let fair: Vec<u128> = left.iter().map(|left| u128::from(*left) * ONE / all as u128).collect();
        let mut sum: Vec<u128> = vec![0; left.len()];
        let mut summed = 0;
        for trial in 0..TRIALS {
            for k in 0..sample {
                if looks.is_over() {
                    return;
                }
                let at = bidders.order[k * all / sample];
                let kind = &mut kinds[bidders.kind_of[at]];
                let mut rest = left.to_vec();
                self.fill(kind, bidders.sites[at].most, &mut rest, looks);
                self.step(left, &rest, &fair, STEP * (trial + 2));
            }
            if trial >= TRIALS / 2 {
                summed += 1;
                sum.iter_mut().zip(&self.of).for_each(|(sum, price)| *sum += u128::from(*price));
            }
        }
        // The mean of the later ones is steadier than the last.
        let mean = |sum: u128| u64::try_from(sum / summed).unwrap_or(u64::MAX);
        self.of = sum.into_iter().map(mean).collect();
    }

    /// Each site gets something. Says what, and what waits still.
    fn sell(
        &mut self,
        bidders: &Bidders<'_>,
        left: &[u64],
        kinds: &mut [Kind],
        looks: &mut Looks,
    ) -> (Vec<Pack>, Vec<u64>) {
        let sites = bidders.sites;
        let mut rest = left.to_vec();
        let mut packs: Vec<Option<Pack>> = sites.iter().map(|_| None).collect();
        for (k, at) in bidders.order.iter().enumerate() {
            let others = (sites.len() - k) as u64;
            let kind = &mut kinds[bidders.kind_of[*at]];
            let before = rest.clone();
            let most = looks.left() / others;
            let pack = looks.part(most, |looks| {
                let mut pack = self.fill(kind, sites[*at].most, &mut rest, looks);
                let offer = Offer::new(&kind.items, &kind.room, |class| self.of[class]);
                pack.exchange(&offer, &mut rest, looks);
                pack
            });
            let fair: Vec<u128> = before.iter().map(|left| u128::from(*left) * ONE / u128::from(others)).collect();
            self.step(&before, &rest, &fair, STEP * (TRIALS + 2));
            packs[*at] = Some(pack);
        }
        (packs.into_iter().flatten().collect(), rest)
    }

    /// What a worker takes at these prices.
    fn fill(&self, kind: &mut Kind, most: u64, left: &mut [u64], looks: &mut Looks) -> Pack {
        let offer = Offer::new(&kind.items, &kind.room, |class| self.of[class]);
        let mut pack = offer.empty(most);
        pack.fill(&offer, left, kind.weights.as_slice(), looks);
        kind.weights.learn(&kind.room, &pack.room);
        pack
    }

    /// Prices follow what was taken of what was there, against the fair share of a worker.
    fn step(&mut self, before: &[u64], after: &[u64], fair: &[u128], divisor: u64) {
        for (class, (price, worth)) in self.of.iter_mut().zip(&self.worth).enumerate() {
            let (taken, fair) = (u128::from(before[class] - after[class]) * ONE, fair[class]);
            let unit = fair.max(ONE) * u128::from(divisor);
            let by = u128::from(*worth).saturating_mul(taken.abs_diff(fair)) / unit;
            let by = u64::try_from(by).unwrap_or(u64::MAX);
            *price = if taken > fair { price.saturating_add(by).min(*worth) } else { price.saturating_sub(by) };
        }
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, Rng, WorkerResources};

    use super::{super::fill::Way, *};
    use crate::pool::Pools;

    /// Whatever may be looked at: no more tasks than wait, and they fit; and what is looked at has its bound.
    #[test]
    fn what_is_sold_is_there() {
        let mut rng = Rng::new(1);
        // What is looked at grows with the square; miri is some hundred times slower.
        for n in 0..if cfg!(miri) { 6 } else { 60 } {
            let requests: Vec<Request> = (0..8).map(|_| Request::cpus(rng.range(1, 6) as u32).unwrap()).collect();
            let values: Vec<u64> = requests.iter().map(|_| rng.range(1, 1_000)).collect();
            let way = |(class, request)| Way { class, variant: 0, request, value: values[class] };
            let ways: Rc<Vec<Way<'_>>> = Rc::new(requests.iter().enumerate().map(way).collect());
            let pools = [8, 12].map(|cpus| Pools::new(&WorkerResources::cpus(cpus).unwrap()));
            let site = |group: usize| Site { pools: pools[group].clone(), ways: Rc::clone(&ways), most: 4, group };
            let sites: Vec<Site<'_>> = (0..10).map(|at| site(at % 2)).collect();
            let left: Vec<u64> = requests.iter().map(|_| rng.range(0, 5)).collect();
            let mut looks = Looks::for_level();
            let bound = 200 * n * n;
            looks.spend(looks.left() - bound);
            let before = looks.used();
            let (shares, value) = auction(&sites, &left, &mut looks).unwrap();
            assert!(looks.used() - before <= bound + 5_000, "{} of {bound}", looks.used() - before);
            let mut sum = 0;
            for class in 0..requests.len() {
                assert!(shares.iter().map(|share| share[class]).sum::<u64>() <= left[class]);
            }
            for (site, share) in sites.iter().zip(&shares) {
                assert!(share.iter().sum::<u64>() <= site.most);
                let mut pools = site.pools.clone();
                for (way, n) in ways.iter().zip(&**share) {
                    sum += way.value * n;
                    for _ in 0..*n {
                        let allocation = pools.allocate(way.request).unwrap();
                        assert!(pools.take(&allocation));
                    }
                }
            }
            assert_eq!(sum, value);
        }
    }
}
