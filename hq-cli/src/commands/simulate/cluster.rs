use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use hq_core::{Span, WorkerConfig, WorkerResources};
use hq_sim::{
    machines::{self, TextError, WorkerGroup},
    workload::{Input, openb},
};

use super::input::read_text;
use crate::parse;

/// A description of a cluster, or the file that has one.
#[derive(Clone, Debug)]
pub(super) enum ClusterArg {
    /// As it was read.
    Groups(Vec<WorkerGroup>),
    /// Where it is.
    File(PathBuf),
}

impl ClusterArg {
    /// What names cpus is a description, since a worker needs them; anything else is a file.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if !text.contains("cpus=") {
            return Ok(Self::File(text.into()));
        }
        machines::parse(text).map(Self::Groups).map_err(|error| parse::text_error(text, &error))
    }

    /// The workers.
    ///
    /// # Errors
    /// For a file that cannot be read, or is neither a description nor a list of nodes.
    pub(super) fn groups(&self) -> anyhow::Result<Vec<WorkerGroup>> {
        let path = match self {
            Self::Groups(groups) => return Ok(groups.clone()),
            Self::File(path) => path,
        };
        let text = read_text(path).with_context(|| {
            format!("cannot read the cluster `{}`; a description names cpus, e.g. `4x cpus=32`", path.display())
        })?;
        let header = text.lines().next().unwrap_or_default();
        if header.split(',').any(|column| column.trim() == "cpu_milli") {
            return nodes(&text).with_context(|| path.display().to_string());
        }
        machines::parse(&text).map_err(|error: TextError| anyhow!("{}: {error}", path.display()))
    }
}

/// A list of nodes in the form of openb.
fn nodes(text: &str) -> anyhow::Result<Vec<WorkerGroup>> {
    let nodes = openb::read_nodes(text)?;
    let groups = nodes.iter().map(|node| {
        let config = node.config().ok_or_else(|| anyhow!("the node {} has no cpu", node.name))?;
        Ok(WorkerGroup { count: 1, config, arrives: Span::ZERO })
    });
    groups.collect()
}

/// The machine that a log says it comes from: one worker with all of its processors, as simulations of such logs have it.
pub(super) fn machine_of(input: &Input) -> Option<Vec<WorkerGroup>> {
    let resources = WorkerResources::cpus(input.processors?).ok()?;
    Some(vec![WorkerGroup { count: 1, config: WorkerConfig::new("machine", resources), arrives: Span::ZERO }])
}
