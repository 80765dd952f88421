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
//! | `i10_locality` | I10 | strict grants lie in the fewest groups possible, soft ones in the fewest now; coupled resources share the group |
//! | `i11_zero_and_huge` | I11 | a grant is what was asked for: nothing for nothing, and never more than there is |
//! | `i12_allocation_limits` | I12 | queued and running allocations stay within their limits, whatever the backend answers |
//! | `i13_crash_counts` | I13 | crash counts grow by unexpected losses alone; at its limit a task fails, over restarts as well |
//! | `i14_replay` | I14 | a replay of the records so far gives the live state |
//! | `i15_gone_workers` | I15 | nothing is on a worker that is gone; what it held waits again, once |
//! | `i16_work_conservation` | I16 | nothing waits that fits, save for the sake of what goes first |
//! | `i17_no_starvation` | I17 | what goes first starts within a bound, whatever comes behind it |
//! | `i18_no_inversion` | I18 | nobody gets what is held for one that goes first |
//! | `i19_backlogs` | I19 | backlogs are given back when another worker could start them, or their own may not any more |
//! | `i20_scarce_last` | I20 | who needs no scarce resource takes the worker without it |
//! | `i21_infeasible` | I21 | what no worker could ever run is told to be so, and nothing else |
//! | `i22_honest_demand` | I22 | no more workers are asked for than what waits could use at once |
//! | `i23_cost` | I23 | what a pass looks at depends on classes, not on tasks |
//! | `i24_determinism` | I24 | the same seed gives the same outputs, byte for byte |
//! | `i25_renaming` | I25 | other ids, the same places |
//! | `i26_batching` | I26 | arrays or one by one, the same plan |
//! | `i27_monotone` | I27 | more capacity or a smaller request takes no place away |
//! | `i28_makespan` | I28 | all ends within twice the lower bound |
//! | `i29_cancel` | I29 | what was cancelled before it was granted never leaves the server |
//! | `i30_idempotence` | I30 | what comes twice counts once |
//! | `i31_retries` | I31 | run again as often and as late as the rules say, and not told to have failed before |

pub mod case;
mod i01_no_oversubscription;
mod i02_conservation;
mod i03_one_place;
mod i04_legal_transitions;
mod i05_stale_messages;
mod i06_fits_is_allocate;
mod i07_dependencies;
mod i08_time;
mod i09_gangs;
mod i10_locality;
mod i11_zero_and_huge;
mod i12_allocation_limits;
mod i13_crash_counts;
mod i14_replay;
mod i15_gone_workers;
mod i16_work_conservation;
mod i17_no_starvation;
mod i18_no_inversion;
mod i19_backlogs;
mod i20_scarce_last;
mod i21_infeasible;
mod i22_honest_demand;
mod i23_cost;
mod i24_determinism;
mod i25_renaming;
mod i26_batching;
mod i27_monotone;
mod i28_makespan;
mod i29_cancel;
mod i30_idempotence;
mod i31_retries;
mod step;
mod waiting;

pub use i01_no_oversubscription::NoOversubscription;
pub use i02_conservation::Conservation;
pub use i03_one_place::OnePlace;
pub use i04_legal_transitions::LegalTransitions;
pub use i05_stale_messages::StaleMessages;
pub use i06_fits_is_allocate::FitsIsAllocate;
pub use i07_dependencies::Dependencies;
pub use i08_time::TimeLeft;
pub use i09_gangs::Gangs;
pub use i10_locality::Locality;
pub use i11_zero_and_huge::ZeroAndHuge;
pub use i12_allocation_limits::AllocationLimits;
pub use i13_crash_counts::CrashCounts;
pub use i14_replay::Replay;
pub use i15_gone_workers::GoneWorkers;
pub use i16_work_conservation::WorkConservation;
pub use i17_no_starvation::NoStarvation;
pub use i18_no_inversion::NoInversion;
pub use i19_backlogs::Backlogs;
pub use i20_scarce_last::{of_one_resource_scarce_last, scarce_last};
pub use i21_infeasible::Infeasible;
pub use i22_honest_demand::HonestDemand;
pub use i23_cost::{Asked, Counting, same_cost};
pub use i24_determinism::same_traces;
pub use i25_renaming::renaming;
pub use i26_batching::batching;
pub use i27_monotone::{Fits, fits, monotone};
pub use i28_makespan::within_twice;
pub use i29_cancel::CanceledStay;
pub use i30_idempotence::Idempotence;
pub use i31_retries::Retries;
use step::Sample;
pub use step::{Freshness, Invariant, Step, What, all};
