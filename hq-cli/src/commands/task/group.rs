use clap::Subcommand;

use super::list;
use crate::context::Context;

/// Commands about tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List tasks of jobs
    List(list::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::List(args) => list::run(args, context).await,
        }
    }
}
