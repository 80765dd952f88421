use hq_core::{Record, Span, Tick};

use crate::{
    invariants::{Invariant, NoStarvation, Step, What, all},
    model::Model,
    report::Meter,
    trace::Trace,
};

/// Whoever looks at what happens.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) model: Model,
    pub(super) meter: Meter,
    pub(super) trace: Trace,
    invariants: Vec<Box<dyn Invariant>>,
    /// The first rule that was broken.
    broken: Option<String>,
}

impl Watch {
    pub(super) fn new(delay: Span, patience: Option<Span>, trace: Trace) -> Self {
        let mut invariants = all(delay);
        if let Some(patience) = patience {
            invariants.push(Box::new(NoStarvation::new(patience)));
        }
        Self { model: Model::default(), meter: Meter::default(), trace, invariants, broken: None }
    }

    pub(super) fn see(&mut self, at: Tick, what: What<'_>) {
        if self.broken.is_some() {
            return;
        }
        let step = Step { at, what, model: &self.model };
        for invariant in &mut self.invariants {
            if let Err(how) = invariant.observe(&step) {
                self.broken.get_or_insert(format!("{}: {how}", invariant.name()));
            }
        }
        self.meter.observe(&step);
        if let What::Fact(record) = what {
            self.model.apply(record);
        }
    }

    /// The server is there anew with these records.
    pub(super) fn restarted(&mut self, at: Tick, records: &[Record]) {
        self.model = Model::default();
        let records: Vec<Record> = records.iter().flat_map(Record::singly).collect();
        for record in &records {
            self.model.apply(record);
        }
        self.see(at, What::Restarted(&records));
    }

    /// Something else than an invariant is wrong.
    pub(super) fn fail(&mut self, how: String) {
        self.broken.get_or_insert(how);
    }

    pub(super) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}
