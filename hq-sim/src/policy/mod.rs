//! Policies on workloads: a discrete-event run of the scheduling core alone, without nodes and network.
//!
//! A fleet that answers at once stands in for the workers, so that what comes out is due to the order and the placement alone;
//! the same run on whole machines with links and disks is [`crate::Simulation`].
//!
//! ```
//! use hq_sim::{machines, policy::Simulation, workload::job_list};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let jobs = job_list::read("jobs", "run,count,cpus,user\n10m,60,2,anne\n1h,4,8,bert\n")?;
//! let cluster = machines::parse("4x cpus=16")?;
//! for order in ["priority", "fcfs"] {
//!     let report = Simulation::new(1).cluster(&cluster).workload(&jobs).policy(order, "pack").run()?;
//!     println!("{order}\n{report}");
//!     # assert_eq!((report.finished, report.lost), (64, 0));
//! }
//! # Ok(()) }
//! ```
//!
//! | file | concern |
//! |---|---|
//! | `simulation` | what is to be simulated |
//! | `run` | events in order of time |
//! | `fleet` | what workers would do |
//! | `event` | what happened, for those who look on, and as lines of a trace |
//! | `submits` | a workload as submits |
//! | `meter` | from what happened to figures |
//! | `strands` | what is free and of no use |
//! | `report`, `usage` | the figures |

mod event;
mod fleet;
mod meter;
mod report;
mod run;
mod simulation;
mod strands;
mod submits;
mod usage;

pub use event::Event;
pub use report::{Report, Run, Waits};
pub use simulation::{Simulation, SimulationError};
pub use usage::Usage;
