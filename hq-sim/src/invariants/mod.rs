//! What must hold after each step, whatever the order of events. Each file is one invariant; most are a second, naive
//! implementation of a rule, fed with facts and messages alone.
//!
//! | file | id | invariant |
//! |---|---|---|
//! | `i01_no_oversubscription` | I1 | what is granted of an index, and what really runs on it, is never more than there is |
//! | `i02_conservation` | I2 | free and granted are what there is, exactly; after all tasks, all is free again |
//! | `i03_one_place` | I3 | a task is in one grant at most; grant and task agree both ways |
//! | `i04_legal_transitions` | I4 | only legal transitions, one end per task, counters sum up |
//! | `i05_stale_messages` | I5 | what comes from an older grant, epoch or link changes nothing |
//! | `i06_fits_is_allocate` | I6 | a request fits exactly where it can be allocated |
//! | `i07_dependencies` | I7 | no start before each needed end; what can never run ends in the same step |
//! | `i08_time` | I8 | whoever starts has the time that the task asks for |
//! | `i09_gangs` | I9 | all workers of a gang at once or none, of one group; without its main one all are free |
//! | `i14_replay` | I14 | a replay of the records so far gives the live state |
//! | `i15_gone_workers` | I15 | nothing is on a worker that is gone; what it held waits again, once |
//! | `i24_determinism` | I24 | the same seed gives the same outputs, byte for byte |
//! | `i29_cancel` | I29 | what was cancelled before it was granted never leaves the server |
//! | `i30_idempotence` | I30 | what comes twice counts once |

mod i01_no_oversubscription;
mod i02_conservation;
mod i03_one_place;
mod i04_legal_transitions;
mod i05_stale_messages;
mod i06_fits_is_allocate;
mod i07_dependencies;
mod i08_time;
mod i09_gangs;
mod i14_replay;
mod i15_gone_workers;
mod i24_determinism;
mod i29_cancel;
mod i30_idempotence;
mod step;

pub use i01_no_oversubscription::NoOversubscription;
pub use i02_conservation::Conservation;
pub use i03_one_place::OnePlace;
pub use i04_legal_transitions::LegalTransitions;
pub use i05_stale_messages::StaleMessages;
pub use i06_fits_is_allocate::FitsIsAllocate;
pub use i07_dependencies::Dependencies;
pub use i08_time::TimeLeft;
pub use i09_gangs::Gangs;
pub use i14_replay::Replay;
pub use i15_gone_workers::GoneWorkers;
pub use i24_determinism::same_traces;
pub use i29_cancel::CanceledStay;
pub use i30_idempotence::Idempotence;
pub use step::{Freshness, Invariant, Step, What, all};
