//! What data of the engine looks like, as text and as JSON. Pure: the same data gives the same text; the moment of
//! looking is an argument.

mod aborted;
mod dump;
mod event_json;
mod event_line;
mod explain;
mod job_info;
mod job_json;
mod job_list;
mod job_tasks;
mod placement;
mod program;
mod program_cells;
mod programs;
mod queues;
mod requests;
mod resources;
mod secrets;
mod server;
mod simulation;
mod state;

mod task_info;
mod task_list;
mod why;
mod worker_info;
mod worker_json;
mod worker_list;

pub(crate) use aborted::{abort_reason, awaited_jobs, why_aborted};
pub(crate) use dump::{LiveTasks, dump_rest, dump_tasks};
pub(crate) use event_json::{EventLines, server_stop};
#[cfg(test)]
pub(crate) use event_line::event_text;
pub(crate) use event_line::{EventLine, Reorder};
pub(crate) use explain::{explanation, explanation_json};
pub(crate) use job_info::{JobOutline, job_details, job_failures};
pub(crate) use job_json::{begin_job_json, job_info_json, task_json};
pub(crate) use job_list::{JobFilter, job_list, job_summary, job_summary_json, job_summary_lines, quiet_line};
pub(crate) use job_tasks::{TaskFilter, TaskRow, TaskRuns, all_ids, row_count, task_rows, unknown_tasks};
pub(crate) use placement::{host_names, locate};
pub(crate) use program::{Body, Target, body, common_paths, final_paths, lossy};
pub(crate) use program_cells::pin as pin_label;
pub(crate) use programs::Programs;
pub(crate) use queues::{allocation_json, allocation_list, queue_json, queue_list, queue_notes};
pub(crate) use requests::request_lines;
pub(crate) use resources::{resource_description, resource_summary};
pub(crate) use secrets::{redacted, redacted_words, without_secrets};
pub(crate) use server::{server_json, server_table};
pub(crate) use simulation::{
    Simulated, cluster_text, simulation_json, simulation_line, simulation_table, simulation_title,
};
pub(crate) use state::{counted, job_color, task_color};
pub(crate) use task_info::task_details;
pub(crate) use task_list::{TaskTable, is_cut};
pub(crate) use why::why;
pub(crate) use worker_info::worker_details;
pub(crate) use worker_json::{resources as resources_json, worker_json};
pub(crate) use worker_list::{worker_list, worker_state};
