//! The file as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<Spanned<String>>,
    pub(super) max_fails: Option<u32>,
    pub(super) stream: Option<Spanned<String>>,
    /// Has no effect.
    #[serde(rename = "data_layer")]
    _data_layer: Option<bool>,
    #[serde(default, rename = "task")]
    pub(super) tasks: Vec<Spanned<Task>>,
    pub(super) array: Option<Spanned<Task>>,
}

/// A task, or all tasks of an array.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// Of a task.
    pub(super) id: Option<Spanned<u32>>,
    /// Of a task.
    pub(super) deps: Option<Spanned<Vec<Spanned<u32>>>>,
    /// Of an array.
    pub(super) ids: Option<Spanned<String>>,
    /// Of an array.
    pub(super) entries: Option<Spanned<Vec<String>>>,
    pub(super) command: Spanned<Vec<String>>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default, rename = "request")]
    pub(super) requests: Vec<Spanned<Request>>,
    pub(super) stdout: Option<Spanned<Value>>,
    pub(super) stderr: Option<Spanned<Value>>,
    pub(super) stdin: Option<String>,
    pub(super) cwd: Option<Spanned<String>>,
    pub(super) pin: Option<Pin>,
    #[serde(default)]
    pub(super) task_dir: bool,
    pub(super) time_limit: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) priority: i32,
    pub(super) crash_limit: Option<Spanned<Value>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pin {
    None,
    Taskset,
    Omp,
}

/// One variant of what a task needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) n_nodes: u32,
    pub(super) time_request: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) resources: BTreeMap<Spanned<String>, Spanned<Value>>,
    pub(super) weight: Option<Spanned<Value>>,
}
