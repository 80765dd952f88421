//! Workloads: what arrives when, runs how long and needs what; readers of public formats, and generators.
//!
//! Readers take text; to find, open and decompress files is the caller's. Their errors name the line or row, and the field.
//!
//! [`read`] takes a text of any of these formats. One at a time:
//!
//! | module | reads or makes |
//! |---|---|
//! | [`job_list`] | lists of jobs that people write |
//! | [`swf`] | batch-job logs in the Standard Workload Format |
//! | [`openb`] | nodes and pods with whole and fractional GPUs |
//! | [`graphs`] | task graphs as JSON data frames |
//! | [`crate::wfcommons`] | recorded workflows; `Workload::try_from` takes them |
//! | [`generate`] | random workloads, and plan instances for comparison with an optimum |
//!
//! ```
//! use hq_core::{Request, Span};
//! use hq_sim::workload::{Workload, WorkloadTask};
//!
//! let task = |run, deps| WorkloadTask { deps, ..WorkloadTask::new(Span::secs(run), Request::cpus(1).unwrap()) };
//! let chain = Workload::new("chain", vec![task(2, vec![1]), task(3, vec![])]).unwrap();
//! assert_eq!(chain.critical_path(), Span::secs(5));
//! assert_eq!(chain.jobs()[1].deps, [0], "who is waited for comes first");
//! ```

mod bounds;
mod csv;
mod format;
mod frame;
pub mod generate;
pub mod graphs;
pub mod job_list;
mod model;
pub mod openb;
mod request;
pub mod swf;

pub use format::{Format, Input, ReadError, read};
pub use model::{Workload, WorkloadError, WorkloadTask};
pub use request::request_text;
