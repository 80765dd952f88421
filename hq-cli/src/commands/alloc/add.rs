use clap::Subcommand;
use hq_client::CallError;
use hq_core::{ClientReply, ClientRequest, Span};
use tracing::{info, warn};

use super::spec::Args;
use crate::{context::Context, output::WithLines, server::unexpected};

/// Workers that have nothing to do for longer than that cost more than they are worth.
const IDLE_MAX: Span = Span::secs(600);

/// Who is asked for machines.
#[derive(Debug, Subcommand)]
pub(crate) enum Manager {
    /// PBS, by qsub, qstat and qdel
    Pbs(Box<Args>),
    /// Slurm, by sbatch, scontrol and scancel
    Slurm(Box<Args>),
    /// This machine: workers are processes beside the server
    Local(Box<Args>),
}

impl Manager {
    fn split(self) -> (&'static str, Args) {
        match self {
            Self::Pbs(args) => ("pbs", *args),
            Self::Slurm(args) => ("slurm", *args),
            Self::Local(args) => ("local", *args),
        }
    }
}

/// Makes a queue.
pub(crate) async fn run(manager: Manager, context: &mut Context) -> anyhow::Result<()> {
    let (backend, args) = manager.split();
    let spec = args.spec(backend)?;
    if spec.idle_timeout.is_some_and(|timeout| timeout > IDLE_MAX) {
        warn!("The idle timeout is longer than {IDLE_MAX}: workers without tasks may hold machines for that long");
    }
    if spec.offer.is_none() {
        warn!(
            "Neither --cpus nor --resource is given: until the first worker has come, one allocation at a time is asked for, \
             to see what workers have"
        );
    }
    let trial = !args.no_dry_run;
    let server = context.server().await?;
    let request = ClientRequest::AddQueue { spec: Box::new(spec), trial };
    let queue = match server.call(request).await.map_err(line_by_line)? {
        ClientReply::QueueAdded(queue) => queue,
        other => return Err(unexpected(other).into()),
    };
    if trial {
        tell_trial();
    }
    info!("Allocation queue {queue} successfully created");
    Ok(())
}

/// Sees whether an allocation would be taken.
pub(crate) async fn dry_run(manager: Manager, context: &mut Context) -> anyhow::Result<()> {
    let (backend, args) = manager.split();
    let spec = args.spec(backend)?;
    let server = context.server().await?;
    match server.call(ClientRequest::TryQueue(Box::new(spec))).await.map_err(line_by_line)? {
        ClientReply::Done => tell_trial(),
        other => return Err(unexpected(other).into()),
    }
    Ok(())
}

/// What a batch system printed has lines of its own.
fn line_by_line(error: CallError) -> anyhow::Error {
    let text = error.to_string();
    let mut lines = text.lines().map(str::to_owned);
    match (lines.next(), lines.collect::<Vec<_>>()) {
        (Some(text), lines) if !lines.is_empty() => WithLines { text, lines }.into(),
        _ => error.into(),
    }
}

fn tell_trial() {
    info!("A trial allocation was submitted successfully. It was immediately canceled to avoid wasting resources.");
}
