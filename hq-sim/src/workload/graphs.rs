//! Task graphs as JSON data frames, the form in which [estee](https://github.com/It4innovations/estee) keeps its sets.
//!
//! A file is an object of columns `graph_name`, `graph_id` and `graph`, each an object from row to text; the text of a graph
//! is JSON again: a list of tasks `{"d": seconds, "e_d": estimate or null, "cpus": n, "outputs": [..], "inputs": [[task,
//! output], ..]}`. Sizes of outputs are left aside: time on the network is not simulated.
//!
//! ```
//! let text = r#"{"graph_name": {"0": "two"}, "graph_id": {"0": "id"},
//!     "graph": {"0": "[{\"d\": 1.5, \"cpus\": 1, \"inputs\": []}, {\"d\": 2, \"e_d\": 3, \"cpus\": 4, \"inputs\": [[0, 0]]}]"}}"#;
//! let graphs = hq_sim::workload::graphs::read(text).unwrap();
//! assert_eq!(graphs[0].name(), "two");
//! assert_eq!(graphs[0].critical_path(), hq_core::Span::millis(3500));
//! ```

use std::collections::BTreeMap;

use hq_core::Request;
use serde::Deserialize;

use super::{Workload, WorkloadError, WorkloadTask, frame::seconds};

/// A text that is not a set of graphs.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Not JSON, or not of this form.
    #[error("this is not a data frame of task graphs (columns `graph_name` and `graph`): {0}")]
    Form(serde_json::Error),
    /// A graph without a name, or a name without a graph.
    #[error("row {0} is not in both columns, `graph_name` and `graph`")]
    Row(String),
    /// A graph that is not a list of tasks.
    #[error("graph `{graph}`: it is not a list of tasks: {error}")]
    Tasks {
        /// Its name.
        graph: String,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A field of a task.
    #[error("graph `{graph}`, task {task}: `{field}` is {value}, which is not possible")]
    Field {
        /// Its name.
        graph: String,
        /// Index of the task.
        task: usize,
        /// Which field.
        field: &'static str,
        /// What it is.
        value: f64,
    },
    /// What tasks wait for.
    #[error("graph `{graph}`: {error}")]
    Graph {
        /// Its name.
        graph: String,
        /// What is wrong.
        error: WorkloadError,
    },
}

#[derive(Deserialize)]
struct RawFrame {
    graph_name: BTreeMap<String, String>,
    graph: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct RawTask {
    d: f64,
    e_d: Option<f64>,
    cpus: u32,
    #[serde(default)]
    inputs: Vec<(usize, usize)>,
}

/// Reads a set of graphs, in order of their rows. All tasks arrive at the beginning.
///
/// # Errors
/// Says which graph is wrong, and where.
pub fn read(text: &str) -> Result<Vec<Workload>, GraphError> {
    let mut frame: RawFrame = serde_json::from_str(text).map_err(GraphError::Form)?;
    let mut rows: Vec<(String, String)> = frame.graph_name.into_iter().collect();
    rows.sort_by_cached_key(|(row, _)| (row.parse::<u64>().unwrap_or(u64::MAX), row.clone()));
    let mut graphs = Vec::with_capacity(rows.len());
    for (row, name) in rows {
        let text = frame.graph.remove(&row).ok_or(GraphError::Row(row))?;
        graphs.push(read_graph(name, &text)?);
    }
    match frame.graph.pop_first() {
        Some((row, _)) => Err(GraphError::Row(row)),
        None => Ok(graphs),
    }
}

fn read_graph(name: String, text: &str) -> Result<Workload, GraphError> {
    let raw: Vec<RawTask> =
        serde_json::from_str(text).map_err(|error| GraphError::Tasks { graph: name.clone(), error })?;
    let mut tasks = Vec::with_capacity(raw.len());
    for (task, raw) in raw.into_iter().enumerate() {
        let wrong = |field, value| GraphError::Field { graph: name.clone(), task, field, value };
        let estimate = raw.e_d.map(|estimate| seconds(estimate).ok_or_else(|| wrong("e_d", estimate))).transpose()?;
        let request = Request::cpus(raw.cpus).map_err(|_| wrong("cpus", f64::from(raw.cpus)))?;
        let run = seconds(raw.d).ok_or_else(|| wrong("d", raw.d))?;
        let deps = raw.inputs.into_iter().map(|(task, _)| task).collect();
        tasks.push(WorkloadTask { estimate, deps, ..WorkloadTask::new(run, request) });
    }
    Workload::new(name.clone(), tasks).map_err(|error| GraphError::Graph { graph: name, error })
}
