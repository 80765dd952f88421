//! Policies on workloads: a discrete-event run of the scheduling core alone, without nodes and network.
//!
//! A fleet that answers at once stands in for the workers, so that what comes out is due to the order and the placement alone;
//! the same run on whole machines with links and disks is [`crate::Simulation`].
//!
//! ```
//! use hq_core::{Request, Span, WorkerConfig, WorkerResources};
//! use hq_sim::{policy::Simulation, workload::generate::array};
//!
//! let tasks = array(80, &Request::cpus(1).unwrap(), Span::secs(10)).unwrap();
//! let worker = WorkerConfig::new("node", WorkerResources::cpus(4).unwrap());
//! let report = Simulation::new(1).workers(2, &worker).workload(&tasks).policy("priority", "pack").run().unwrap();
//! assert_eq!((report.finished, report.makespan), (80, Span::secs(100)));
//! assert_eq!(report.utilisation("cpus"), 1.0);
//! ```
//!
//! | file | concern |
//! |---|---|
//! | `simulation` | what is to be simulated |
//! | `run` | events in order of time |
//! | `fleet` | what workers would do |
//! | `submits` | a workload as submits |
//! | `meter` | from what happened to figures |
//! | `report`, `usage` | the figures |

mod fleet;
mod meter;
mod report;
mod run;
mod simulation;
mod submits;
mod usage;

pub use report::{Report, Run, Waits};
pub use simulation::{Simulation, SimulationError};
pub use usage::Usage;
