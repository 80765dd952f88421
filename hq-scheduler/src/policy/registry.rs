use std::collections::BTreeMap;

use super::{
    EasyBackfill, FairShare, Fcfs, FirstFit, LeastFragmenting, LeastLoaded, Order, Pack, Patience, Placement, Priority,
    RoundRobin, Sjf,
};

/// The policies that can be chosen by name, and the ones that decide.
#[derive(Debug)]
pub(crate) struct Policies {
    orders: BTreeMap<String, Box<dyn Order>>,
    placements: BTreeMap<String, Box<dyn Placement>>,
    order: String,
    placement: String,
}

impl Default for Policies {
    fn default() -> Self {
        let mut policies = Self {
            orders: BTreeMap::new(),
            placements: BTreeMap::new(),
            order: Priority.name().to_owned(),
            placement: Pack.name().to_owned(),
        };
        policies.add_order(Box::new(Priority));
        policies.add_order(Box::new(Fcfs));
        policies.add_order(Box::new(Sjf));
        policies.add_order(Box::new(FairShare::USERS));
        policies.add_order(Box::new(FairShare::PROJECTS));
        policies.add_order(Box::new(EasyBackfill::ARRIVAL));
        policies.add_order(Box::new(EasyBackfill::SHORTEST));
        policies.add_order(Box::new(EasyBackfill::SMALLEST));
        policies.add_order(Box::new(Patience));
        policies.add_placement(Box::new(Pack));
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
        let is_chosen = order.name() == self.order;
        self.orders.insert(order.name().to_owned(), order);
        is_chosen
    }

    /// Whether it is the one that decides.
    pub(crate) fn add_placement(&mut self, placement: Box<dyn Placement>) -> bool {
        let is_chosen = placement.name() == self.placement;
        self.placements.insert(placement.name().to_owned(), placement);
        is_chosen
    }

    pub(crate) fn orders(&self) -> impl Iterator<Item = &str> {
        self.orders.keys().map(String::as_str)
    }

    pub(crate) fn placements(&self) -> impl Iterator<Item = &str> {
        self.placements.keys().map(String::as_str)
    }

    /// Chooses by name; on an unknown one nothing changes and the text says what is known.
    pub(crate) fn choose(&mut self, order: &str, placement: &str) -> Result<(), String> {
        if !self.orders.contains_key(order) {
            return Err(unknown("order", order, self.orders.keys()));
        }
        if !self.placements.contains_key(placement) {
            return Err(unknown("placement", placement, self.placements.keys()));
        }
        order.clone_into(&mut self.order);
        placement.clone_into(&mut self.placement);
        Ok(())
    }

    pub(crate) fn order(&self) -> &dyn Order {
        self.orders.get(&self.order).map_or(&Priority, |order| &**order)
    }

    pub(crate) fn placement(&self) -> &dyn Placement {
        self.placements.get(&self.placement).map_or(&Pack, |placement| &**placement)
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    format!("there is no {what} `{name}`; use one of: {}", known.join(", "))
}
