//! What managers print: lengths of time, moments, ids, lists of hosts. All readers take any text and never panic.

mod host_list;
mod job_id;
mod moment;
mod span;

pub use host_list::{HOSTS_MAX, host_list};
pub use job_id::{job_of, pbs_job_of};
pub use moment::{ctime, timestamp};
pub use span::{TimeLimit, time_limit};
