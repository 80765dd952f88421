//! A whole cluster in one thread: the real server machine and real worker machines on a simulated network, disk and clock.
//!
//! A run is a function of its seed. It has a *safety phase* with faults, and then, if asked for, a *liveness phase* without:
//! the network heals, capable workers come, and all tasks have to end within a bound of virtual time. After each step every
//! [invariant](crate::invariants) looks.
//!
//! | file | concern |
//! |---|---|
//! | `simulation` | what is to be simulated, and the result |
//! | `faults` | what may go wrong, and how often |
//! | `world` | events in order of time |
//! | `network` | links: in order, late, dark, cut |
//! | `server_host` | the server's process and its disk |
//! | `worker_host` | a worker's process and what it runs |
//! | `client_host` | what clients ask and were promised |
//! | `watch` | the books, the invariants, the figures, the trace |

mod client_host;
mod faults;
mod network;
mod server_host;
mod simulation;
mod watch;
mod worker_host;
mod world;

pub use faults::{Faults, Mishap};
pub(crate) use simulation::Act;
pub use simulation::{Broken, Outcome, Simulation};
