//! Properties of single decisions on random small states, and what needs a scenario of its own. Each is shown to be able to
//! fail as well.

mod allocations;
mod decisions;
mod oracle;
mod scenarios;
