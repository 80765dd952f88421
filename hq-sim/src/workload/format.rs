use std::fmt;

use super::{
    Workload, WorkloadError, graphs,
    graphs::GraphError,
    job_list,
    openb::{self, OpenbError},
    swf::{self, Cleaning, Processors, SwfError},
};
use crate::{
    text::TextError,
    wfcommons::{self, WorkflowError},
};

/// A format of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A list of jobs ([`job_list`]).
    Jobs,
    /// A log in the Standard Workload Format ([`swf`]).
    Swf,
    /// A set of task graphs ([`graphs`]).
    Graphs,
    /// A recorded workflow ([`wfcommons`]).
    WfCommons,
    /// A list of pods ([`openb`]).
    Openb,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Jobs, Self::Swf, Self::Graphs, Self::WfCommons, Self::Openb];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Swf => "swf",
            Self::Graphs => "graphs",
            Self::WfCommons => "wfcommons",
            Self::Openb => "openb",
        }
    }

    /// The format that a text seems to have, by its first line, or its first keys.
    pub fn detect(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('{') {
            return Some(if text.contains("\"graph_name\"") { Self::Graphs } else { Self::WfCommons });
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        if line.starts_with(';') || (line.split_whitespace().all(|word| word.parse::<i64>().is_ok())) {
            return Some(Self::Swf);
        }
        let has = |column| line.split(',').any(|field| field.trim() == column);
        if has("cpu_milli") {
            return Some(Self::Openb);
        }
        has("run").then_some(Self::Jobs)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not a workload.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is none of the formats.
    #[error(
        "this is none of the formats jobs (a header with `run`), swf, graphs, wfcommons and openb; name the one it is"
    )]
    Unknown,
    /// Of several graphs, none was chosen.
    #[error("there are several graphs in it, choose one: {0}")]
    Several(String),
    /// No such graph.
    #[error("there is no graph `{graph}` in it; there are: {known}")]
    NoGraph {
        /// Which was wanted.
        graph: String,
        /// Which are there.
        known: String,
    },
    /// A graph wanted of what is no set of graphs.
    #[error("a graph can be chosen from a set of graphs only, and this is {0}")]
    NotGraphs(Format),
    /// In a list of jobs.
    #[error(transparent)]
    Jobs(#[from] TextError),
    /// In a log.
    #[error(transparent)]
    Swf(#[from] SwfError),
    /// In a set of graphs.
    #[error(transparent)]
    Graphs(#[from] GraphError),
    /// In a workflow.
    #[error(transparent)]
    WfCommons(#[from] WorkflowError),
    /// In a list of pods.
    #[error(transparent)]
    Openb(#[from] OpenbError),
    /// Tasks that are not a workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// A workload, and what else its text said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The workload.
    pub workload: Workload,
    /// The format that it was in.
    pub format: Format,
    /// Processors of the machine that a log comes from.
    pub processors: Option<u32>,
    /// Jobs of a log, or pods, that are left out: without a run time, or without anything to ask for.
    pub dropped: usize,
}

/// Jobs of a log without a run time are dropped, runs are cut to the estimate; processors as requested, else as allocated.
const CLEANING: Cleaning = Cleaning { processors: Processors::RequestedElseAllocated, ..Cleaning::EASY };

/// Reads a workload of any format: of the one given, or of the one that it seems to be. A set of graphs needs a choice where
/// there are several.
///
/// # Errors
/// Says what is wrong and, where that is in one place, where.
pub fn read(name: &str, text: &str, format: Option<Format>, graph: Option<&str>) -> Result<Input, ReadError> {
    let format = format.or_else(|| Format::detect(text)).ok_or(ReadError::Unknown)?;
    if graph.is_some() && format != Format::Graphs {
        return Err(ReadError::NotGraphs(format));
    }
    let input = |workload| Input { workload, format, processors: None, dropped: 0 };
    Ok(match format {
        Format::Jobs => input(job_list::read(name, text)?),
        Format::Swf => {
            let log = swf::read(text)?;
            let (workload, dropped) = log.workload(name, &CLEANING)?;
            Input { processors: log.max_procs(), dropped, ..input(workload) }
        }
        Format::Graphs => input(choose(graphs::read(text)?, graph)?),
        Format::WfCommons => input(Workload::try_from(&wfcommons::read(text)?)?),
        Format::Openb => {
            let pods = openb::read_pods(text)?;
            let workload = openb::workload(name, &pods)?;
            Input { dropped: pods.len() - workload.jobs().len(), ..input(workload) }
        }
    })
}

fn choose(mut graphs: Vec<Workload>, graph: Option<&str>) -> Result<Workload, ReadError> {
    let known = graphs.iter().map(Workload::name).collect::<Vec<_>>().join(", ");
    match graph {
        Some(graph) => {
            let found = graphs.into_iter().find(|known| known.name() == graph);
            found.ok_or_else(|| ReadError::NoGraph { graph: graph.to_owned(), known })
        }
        None if graphs.len() == 1 => Ok(graphs.remove(0)),
        None => Err(ReadError::Several(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        for (text, expected) in [
            ("\u{feff}# mine\n\nrun,count\n", Some(Format::Jobs)),
            ("count , run\n", Some(Format::Jobs)),
            ("; MaxProcs: 4\n", Some(Format::Swf)),
            ("  1 2 -1 4\n", Some(Format::Swf)),
            ("name,cpu_milli,memory_mib\n", Some(Format::Openb)),
            ("\n{\"graph_name\": {}}", Some(Format::Graphs)),
            ("{\"workflow\": {}}", Some(Format::WfCommons)),
            ("count,cpus\n", None),
            ("", None),
        ] {
            assert_eq!(Format::detect(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_graph_is_chosen() {
        let task = r#""[{\"d\": 1, \"cpus\": 1}]""#;
        let text = format!(r#"{{"graph_name": {{"0": "a", "1": "b"}}, "graph": {{"0": {task}, "1": {task}}}}}"#);
        let chosen = |graph| read("file", &text, None, graph).map(|input| input.workload.name().to_owned());
        assert_eq!(chosen(Some("b")).unwrap(), "b");
        assert!(chosen(None).unwrap_err().to_string().ends_with("choose one: a, b"));
        assert!(chosen(Some("c")).unwrap_err().to_string().contains("no graph `c` in it; there are: a, b"));
        let error = read("file", "run\n1\n", None, Some("a")).unwrap_err().to_string();
        assert!(error.ends_with("this is jobs"), "{error}");
        assert!(read("file", "", None, None).unwrap_err().to_string().contains("none of the formats"));
    }

    #[test]
    fn a_log_tells_its_machine() {
        let text = include_str!("../../testdata/sample.swf");
        let input = read("log", text, None, None).unwrap();
        assert_eq!((input.format, input.processors), (Format::Swf, Some(8)));
    }
}
