//! Pictures of simulations: who used how much, who waited, and who ran where; as SVG, or as a page of HTML.
//!
//! A picture is one text that needs nothing else, no script, and is read on light and on dark ground. Everything in it that comes
//! from a workload is escaped.
//!
//! ```
//! use hq_sim::{machines, picture::{self, Scene, Timeline}, policy::Simulation, workload::job_list};
//!
//! let jobs = job_list::read("jobs", "run,count\n10,7\n").unwrap();
//! let mut timeline = Timeline::new();
//! let simulation = Simulation::new(1).cluster(&machines::parse("2x cpus=2").unwrap()).workload(&jobs);
//! let report = simulation.on_event(|now, event| timeline.see(now, event)).run().unwrap();
//! let svg = picture::svg("seven tasks", &jobs, &[Scene { name: "priority, pack", report: &report, timeline: &timeline }]);
//! assert!(svg.starts_with("<svg ") && svg.contains("seven tasks"));
//! ```
//!
//! | file | concern |
//! |---|---|
//! | `timeline` | who ran where, gathered while it happens |
//! | `page` | the whole: headings, charts below each other, the page around them |
//! | `charts` | a resource over time, waiting tasks over time |
//! | `workers` | a bar per run where these are few, else a strip per worker |
//! | `scale` | axes |
//! | `draw` | elements of SVG |

mod charts;
mod draw;
mod page;
mod scale;
mod timeline;
mod workers;

pub use page::{Scene, html, svg};
pub use timeline::Timeline;
