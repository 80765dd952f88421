use std::{
    env,
    path::{PathBuf, absolute},
};

use anyhow::Context as _;
use hq_backend_local::LocalBackend;
use hq_backend_pbs::PbsBackend;
use hq_backend_slurm::SlurmBackend;
use hq_core::Span;
use hq_engine::{
    BatchWorkers, Engine, ScaleKnobs,
    serve::{ServeOptions, check_free},
};
use hq_transport::access::AccessRecord;
use tracing::info;

use crate::{
    context::Context,
    interrupt::interrupted,
    output::Mode,
    parse,
    view::{server_json, server_table},
};

/// Options of `server start`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq server start &
  hq server start --journal ~/hq.journal --idle-timeout 10m
  hq server start --host login1.cluster --client-port 7001 --worker-port 7002")]
pub(crate) struct Args {
    /// Name of this machine in the access record [default: its hostname]
    #[arg(long)]
    host: Option<String>,
    /// Stop workers after having nothing to do for that long, if they have no idle timeout of their own
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    idle_timeout: Option<Span>,
    /// Port for clients [default: any free one]
    #[arg(long, value_name = "PORT")]
    client_port: Option<u16>,
    /// Port for workers [default: any free one]
    #[arg(long, value_name = "PORT")]
    worker_port: Option<u16>,
    /// Keep all that happens in this file, and go on from what is in it
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    /// Longest time that what nobody waits for may take to be on disk
    #[arg(long, value_name = "DURATION", default_value = "20ms", value_parser = parse::reader(parse::span))]
    journal_flush_period: Span,
    /// Take the journal from a server that still has it: only where that one is gone for good, e.g. with its machine
    #[arg(long, requires = "journal")]
    takeover: bool,
    /// After a restart, wait that long for workers started with `--on-server-lost reconnect` before their tasks run elsewhere
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse::reader(parse::span))]
    adopt_timeout: Span,
    /// Use hosts, ports and keys of this full access record
    #[arg(long, value_name = "PATH")]
    access_file: Option<PathBuf>,
    /// Take clients without keys: whoever reaches the port can run programs as you
    #[arg(long)]
    disable_client_authentication_and_encryption: bool,
    /// Take workers without keys: whoever reaches the port is given tasks
    #[arg(long)]
    disable_worker_authentication_and_encryption: bool,
    /// Without effect: scheduling needs no time limit
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span), hide = true)]
    scheduler_time_limit: Option<Span>,
}

/// Serves until a client or a signal ends it.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    // Signals are minded from the beginning, so that none that comes early is lost.
    let interrupted = interrupted()?;
    let record = match &args.access_file {
        Some(path) => Some(AccessRecord::load(path, env!("CARGO_PKG_VERSION"))?),
        None => None,
    };
    let mut builder = Engine::builder();
    builder = builder.journal_flush(args.journal_flush_period.into());
    builder = builder.adopt_timeout(args.adopt_timeout.into());
    if let Some(journal) = &args.journal {
        // Shown to clients, which have other working directories.
        builder =
            builder.journal(absolute(journal).context("cannot find the journal")?).take_journal_over(args.takeover);
    }
    if let Some(timeout) = args.idle_timeout {
        builder = builder.idle_timeout(timeout.into());
    }
    if let Some(uid) = record.as_ref().and_then(|record| record.server_uid.as_ref()) {
        builder = builder.server_uid(uid.clone());
    }
    builder = builder
        .backend(LocalBackend::processes())
        .backend(PbsBackend::new())
        .backend(SlurmBackend::new())
        .batch_workers(BatchWorkers { program: program()?, rust_log: env::var("RUST_LOG").ok() })
        .scale_knobs(scale_knobs(|name| env::var(name).ok()));
    let server_dir = absolute(&context.global.server_dir).context("cannot find the server directory")?;
    // Whoever is refused has taken no journal from anybody.
    check_free(&server_dir).await?;
    let mut engine = builder.start().await?;
    let info = engine.serve(options(&args, server_dir.clone(), record)).await?;
    match context.out.mode() {
        Mode::Cli => context.out.table(&server_table(&info, Some(&server_dir)))?,
        Mode::Json => context.out.json(&server_json(&info, Some(&server_dir)))?,
        Mode::Quiet => context.out.line(&server_dir.display().to_string())?,
    }
    context.out.flush()?;
    tokio::select! {
        ended = engine.ended() => {
            ended?;
            info!("Server stopped");
            return Ok(());
        }
        signal = interrupted => info!("Received {signal}, the server is stopping"),
    }
    Ok(engine.shutdown().await?)
}

/// This program's file, also where a newer one has taken its place: the system marks the path then.
fn program() -> anyhow::Result<PathBuf> {
    let path = env::current_exe().context("cannot find the program's own file")?;
    let marked = path.to_str().and_then(|text| text.strip_suffix(" (deleted)"));
    Ok(marked.map(PathBuf::from).unwrap_or(path))
}

/// How patient the server is with batch systems: callers set it by the environment, in milliseconds. What cannot be read
/// changes nothing.
fn scale_knobs(env: impl Fn(&str) -> Option<String>) -> ScaleKnobs {
    let mut knobs = ScaleKnobs::default();
    let number = |name: &str| env(name).and_then(|text| text.trim().parse::<u64>().ok());
    let set = |name: &str, knob: &mut Span| {
        if let Some(millis) = number(name).filter(|millis| *millis > 0) {
            *knob = Span::millis(millis);
        }
    };
    set("HQ_AUTOALLOC_REFRESH_INTERVAL_MS", &mut knobs.refresh);
    set("HQ_AUTOALLOC_MAX_SCHEDULE_DELAY_MS", &mut knobs.look);
    set("HQ_AUTOALLOC_SCHEDULE_TICK_INTERVAL_MS", &mut knobs.tick);
    if let Some(fails) = number("HQ_AUTOALLOC_MAX_ALLOCATION_FAILS").and_then(|fails| u32::try_from(fails).ok()) {
        knobs.allocation_failures = fails.max(1);
    }
    knobs
}

fn options(args: &Args, server_dir: PathBuf, record: Option<AccessRecord>) -> ServeOptions {
    let mut options = ServeOptions::new(server_dir);
    if let Some(record) = record {
        options = options.access(record);
    }
    if let Some(host) = &args.host {
        options = options.host(host.clone());
    }
    if let Some(port) = args.client_port {
        options = options.client_port(port);
    }
    if let Some(port) = args.worker_port {
        options = options.worker_port(port);
    }
    if args.disable_client_authentication_and_encryption {
        options = options.plain_clients();
    }
    if args.disable_worker_authentication_and_encryption {
        options = options.plain_workers();
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_come_from_the_environment() {
        let knobs = scale_knobs(|name| {
            let value = match name {
                "HQ_AUTOALLOC_REFRESH_INTERVAL_MS" => "100",
                "HQ_AUTOALLOC_SCHEDULE_TICK_INTERVAL_MS" => "soon",
                "HQ_AUTOALLOC_MAX_ALLOCATION_FAILS" => "1",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let usual = ScaleKnobs::default();
        assert_eq!((knobs.refresh, knobs.tick, knobs.allocation_failures), (Span::millis(100), usual.tick, 1));
    }
}
