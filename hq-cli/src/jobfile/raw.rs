//! The file as it is written.

use std::{collections::BTreeMap, fmt};

use hq_core::DepKind;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
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
    /// Of a task: those that have to end, however.
    pub(super) deps_any: Option<Spanned<Vec<Spanned<u32>>>>,
    /// Of a task: those that have to fail.
    pub(super) deps_failed: Option<Spanned<Vec<Spanned<u32>>>>,
    /// Of an array.
    pub(super) ids: Option<Spanned<String>>,
    /// Of an array.
    pub(super) entries: Option<Spanned<Vec<String>>>,
    pub(super) command: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) env: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default, rename = "request")]
    pub(super) requests: Vec<Spanned<Request>>,
    pub(super) stdout: Option<Spanned<Output>>,
    pub(super) stderr: Option<Spanned<Output>>,
    pub(super) stdin: Option<String>,
    pub(super) cwd: Option<Spanned<String>>,
    pub(super) pin: Option<Pin>,
    #[serde(default)]
    pub(super) task_dir: bool,
    pub(super) time_limit: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) priority: i32,
    pub(super) crash_limit: Option<Spanned<Value>>,
    pub(super) retry: Option<Spanned<Rules>>,
}

/// Rules of retry: one as a text, or a list of them.
#[derive(Debug)]
pub(super) enum Rules {
    One(String),
    Several(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Rules {
    // Not derived: what serde tries one after the other has no places.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Rules;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rule such as \"exit=75:3:10s..5m\", or a list of rules")
            }

            fn visit_str<E>(self, text: &str) -> Result<Rules, E> {
                Ok(Rules::One(text.to_owned()))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Rules, S::Error> {
                let mut rules = Vec::new();
                while let Some(rule) = seq.next_element()? {
                    rules.push(rule);
                }
                Ok(Rules::Several(rules))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Task {
    /// Its lists of tasks that it waits for.
    pub(super) fn lists(&self) -> impl Iterator<Item = &Spanned<Vec<Spanned<u32>>>> {
        [&self.deps, &self.deps_any, &self.deps_failed].into_iter().flatten()
    }

    /// All that it waits for, and for which end of it.
    pub(super) fn edges(&self) -> impl Iterator<Item = (&Spanned<u32>, DepKind)> {
        let kinds =
            [(&self.deps, DepKind::Success), (&self.deps_any, DepKind::AnyEnd), (&self.deps_failed, DepKind::Failure)];
        kinds.into_iter().flat_map(|(list, kind)| list.iter().flat_map(Spanned::get_ref).map(move |on| (on, kind)))
    }
}

/// Where an output goes: a text, or a table of texts.
#[derive(Debug)]
pub(super) enum Output {
    Text(String),
    Table(Vec<(Spanned<String>, Spanned<Value>)>),
}

impl<'de> Deserialize<'de> for Output {
    // Not derived: what serde tries one after the other has no places.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Output;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"none\", a path, or a table with `path` and `on_close`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Output, E> {
                Ok(Output::Text(text.to_owned()))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Output, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Output::Table(entries))
            }
        }
        deserializer.deserialize_any(Reader)
    }
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
