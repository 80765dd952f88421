use super::{
    EasyBackfill, FairShare, Fcfs, FirstFit, LeastFragmenting, LeastLoaded, Order, Pack, Patience, Placement, Priority,
    RoundRobin, Sjf,
};

/// The policies that can be chosen by name, and the ones that decide.
#[derive(Debug)]
pub(crate) struct Policies {
    orders: Choice<dyn Order>,
    placements: Choice<dyn Placement>,
}

/// Policies by name, and the one that decides: found once, as it is asked all the time.
#[derive(Debug)]
struct Choice<T: ?Sized> {
    /// In order of names; never empty.
    all: Vec<(String, Box<T>)>,
    chosen: usize,
}

impl Default for Policies {
    fn default() -> Self {
        let mut policies = Self {
            orders: Choice::of(Priority.name(), Box::new(Priority)),
            placements: Choice::of(Pack.name(), Box::new(Pack)),
        };
        policies.add_order(Box::new(Fcfs));
        policies.add_order(Box::new(Sjf));
        policies.add_order(Box::new(FairShare::USERS));
        policies.add_order(Box::new(FairShare::PROJECTS));
        policies.add_order(Box::new(EasyBackfill::ARRIVAL));
        policies.add_order(Box::new(EasyBackfill::SHORTEST));
        policies.add_order(Box::new(EasyBackfill::SMALLEST));
        policies.add_order(Box::new(Patience));
        policies.add_placement(Box::new(LeastLoaded));
        policies.add_placement(Box::new(RoundRobin));
        policies.add_placement(Box::new(FirstFit));
        policies.add_placement(Box::new(LeastFragmenting));
        policies
    }
}

impl Policies {
    /// Whether it is the one that decides.
    pub(crate) fn add_order(&mut self, order: Box<dyn Order>) -> bool {
        self.orders.add(order.name().to_owned(), order)
    }

    /// Whether it is the one that decides.
    pub(crate) fn add_placement(&mut self, placement: Box<dyn Placement>) -> bool {
        self.placements.add(placement.name().to_owned(), placement)
    }

    pub(crate) fn orders(&self) -> impl Iterator<Item = &str> {
        self.orders.names()
    }

    pub(crate) fn placements(&self) -> impl Iterator<Item = &str> {
        self.placements.names()
    }

    /// Chooses by name; on an unknown one nothing changes and the text says what is known.
    pub(crate) fn choose(&mut self, order: &str, placement: &str) -> Result<(), String> {
        let at = self.orders.find("order", order)?;
        self.placements.chosen = self.placements.find("placement", placement)?;
        self.orders.chosen = at;
        Ok(())
    }

    pub(crate) fn order(&self) -> &dyn Order {
        self.orders.chosen().map_or(&Priority, |order| order)
    }

    pub(crate) fn placement(&self) -> &dyn Placement {
        self.placements.chosen().map_or(&Pack, |placement| placement)
    }
}

impl<T: ?Sized> Choice<T> {
    /// The first one, which is chosen.
    fn of(name: &str, policy: Box<T>) -> Self {
        Self { all: vec![(name.to_owned(), policy)], chosen: 0 }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.all.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }

    /// Whether it takes the place of the one that is chosen.
    fn add(&mut self, name: String, policy: Box<T>) -> bool {
        match self.position(&name) {
            Ok(at) => {
                self.all[at].1 = policy;
                at == self.chosen
            }
            Err(at) => {
                self.all.insert(at, (name, policy));
                self.chosen += usize::from(at <= self.chosen);
                false
            }
        }
    }

    fn find(&self, what: &str, name: &str) -> Result<usize, String> {
        self.position(name).map_err(|_| {
            let known: Vec<&str> = self.names().collect();
            format!("there is no {what} `{name}`; use one of: {}", known.join(", "))
        })
    }

    fn chosen(&self) -> Option<&T> {
        self.all.get(self.chosen).map(|(_, policy)| &**policy)
    }
}
