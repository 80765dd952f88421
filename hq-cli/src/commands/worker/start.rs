use std::{os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use hq_core::{OnServerLost, PROGRAM_KIND, ResourceDef, Span, WorkerConfig, WorkerId, WorkerInfo};
use hq_worker::{Exit, NotifyDesk, ProgramOptions, ProgramRunner, Runners, WorkerOptions, run_worker};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::{
    context::Context,
    interrupt::interrupted,
    output::{Mode, now},
    parse,
    view::{worker_details, worker_json},
    worker::{
        BaseArgs, ConfigArgs, DetectList, ManagerArg, Search, ServerWay, WorkDir, detect_manager, send_overviews,
        watch_welcome,
    },
};

/// Options of `worker start`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq worker start &
  hq worker start --cpus 2x16 --resource 'gpus/nvidia=[0,1]' --idle-timeout 5m
  hq worker start --cpus 4 --time-limit 1h --on-server-lost finish-running
  hq worker start --on-server-lost reconnect --reconnect-timeout 2h")]
pub(crate) struct Args {
    /// Its cpus, e.g. `8`, `2x16`, `[0,2,4]` [default: those of this machine]
    #[arg(long, value_name = "DEFINITION", value_parser = parse::reader(parse::cpus_definition))]
    cpus: Option<ResourceDef>,
    /// Another resource, e.g. `gpus/nvidia=[0,1]`, `mem=sum(1000)`; may be repeated
    #[arg(long, value_name = "NAME=DEFINITION", value_parser = parse::reader(parse::resource_definition))]
    resource: Vec<ResourceDef>,
    /// Tasks on several nodes use workers of one group [default: id of the batch job, else `default`]
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Which resources are looked for: `all`, `none` or some of cpus,mem,gpus/nvidia,gpus/amd
    #[arg(long, value_name = "LIST", default_value = "all")]
    detect_resources: DetectList,
    /// Of each physical core take only one thread; for cpus that are looked for
    #[arg(long)]
    no_hyper_threading: bool,
    /// Groups that lie close to each other, e.g. `cpus[0]:gpus[0],cpus[1]:gpus[1]=64`
    #[arg(long, value_name = "SPEC", value_parser = parse::reader(parse::coupling))]
    coupling: Option<String>,
    /// Stop after having nothing to do for that long [default: the server's]
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    idle_timeout: Option<Span>,
    /// Time between overviews of the hardware, with its unit; `0s` turns them off
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::human_span))]
    overview_interval: Option<Span>,
    /// Take tasks only if they use at least this share of the cpus, 0.0 to 1.0
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse::reader(parse::min_utilization), allow_hyphen_values = true)]
    min_utilization: u32,
    /// Time between signs of life
    #[arg(long, value_name = "DURATION", default_value = "8s", value_parser = parse::reader(parse::positive_span))]
    heartbeat: Span,
    /// End after that long [default: what the batch job still has]
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    time_limit: Option<Span>,
    /// Batch system that this worker lives in
    #[arg(long, value_name = "MANAGER", default_value = "detect")]
    manager: ManagerArg,
    /// Name that is shown [default: the machine's]
    #[arg(long, value_name = "NAME")]
    hostname: Option<String>,
    /// What happens to running tasks when the server is lost
    #[arg(long, value_name = "POLICY", default_value = "stop")]
    on_server_lost: OnServerLostArg,
    /// With `--on-server-lost reconnect`: end after that long without a server [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    reconnect_timeout: Option<Span>,
    /// Directory for directories of tasks, best on a local disk [default: a fresh one]
    #[arg(long, value_name = "PATH")]
    work_dir: Option<PathBuf>,
    /// Without effect: tasks that wait on a worker are called back when they have to be
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span), hide = true)]
    retract_check_interval: Option<Span>,
}

/// What happens to running tasks when the server is lost.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnServerLostArg {
    /// They are killed.
    Stop,
    /// They may end; nothing new is started.
    FinishRunning,
    /// They go on, and the worker comes back to the server or to the one that follows it.
    Reconnect,
}

/// How long a worker looks for a server unless something else is said.
const RECONNECT_TIMEOUT: Span = Span::secs(30 * 60);

impl Args {
    fn on_server_lost(&self) -> anyhow::Result<OnServerLost> {
        Ok(match self.on_server_lost {
            OnServerLostArg::Reconnect => {
                OnServerLost::Reconnect { timeout: self.reconnect_timeout.unwrap_or(RECONNECT_TIMEOUT) }
            }
            _ if self.reconnect_timeout.is_some() => {
                bail!("--reconnect-timeout is only of use with --on-server-lost reconnect")
            }
            OnServerLostArg::Stop => OnServerLost::Stop,
            OnServerLostArg::FinishRunning => OnServerLost::FinishRunning,
        })
    }

    fn config_args(&self, in_slurm: bool) -> anyhow::Result<ConfigArgs> {
        Ok(ConfigArgs {
            cpus: self.cpus.clone(),
            resources: self.resource.clone(),
            search: Search {
                list: self.detect_resources.clone(),
                one_thread_per_core: self.no_hyper_threading,
                in_slurm,
            },
            coupling: self.coupling.clone(),
            hostname: self.hostname.clone(),
            group: self.group.clone(),
            base: BaseArgs {
                time_limit: self.time_limit,
                idle_timeout: self.idle_timeout,
                heartbeat: self.heartbeat,
                on_server_lost: self.on_server_lost()?,
                min_utilization: self.min_utilization,
                overview_interval: self.overview_interval.filter(|interval| *interval > Span::ZERO),
            },
        })
    }
}

/// Runs tasks until the server, the time limit or a signal ends it.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    // Signals are minded from the beginning, so that none that comes early is lost.
    let interrupted = interrupted()?;
    let job = detect_manager(args.manager).await?;
    let remaining = job.as_ref().and_then(|(_, remaining)| *remaining);
    let work_dir = WorkDir::prepare(args.work_dir.as_deref())?;
    let in_slurm = job.as_ref().is_some_and(|(job, _)| job.manager == "Slurm");
    let mut config = args.config_args(in_slurm)?.gather(work_dir.path(), job.map(|(job, _)| job))?;
    config.time_limit = config.time_limit.or(remaining);
    let way = ServerWay::new(&context.global.server_dir);
    let (link, mut welcome) = watch_welcome(way.find().await?);
    let desk = notify_desk(std::env::temp_dir());
    let (overviews, looks) = mpsc::channel(1);
    let options =
        WorkerOptions::new(config.clone(), link, runners(&config, desk.as_ref().map(|(_, desk)| Arc::clone(desk)))?)
            .overviews(looks);
    let options = if config.on_server_lost.reconnects() { options.way_back(Arc::new(way)) } else { options };
    let handle = options.handle();
    let worker = run_worker(options);
    tokio::pin!(worker, interrupted);
    let (mut is_known, mut is_interrupted) = (false, false);
    let exit = loop {
        tokio::select! {
            exit = &mut worker => break exit,
            welcome = &mut welcome, if !is_known => {
                is_known = true;
                if let Ok(welcome) = welcome {
                    show(welcome.worker, config.clone(), context)?;
                    // The server takes them from now on; the first one is complete.
                    tokio::spawn(send_overviews(config.clone(), overviews.clone()));
                }
            }
            signal = &mut interrupted, if !is_interrupted => {
                is_interrupted = true;
                info!("Received {signal}, the worker is stopping");
                handle.interrupt();
            }
        }
    };
    drop((work_dir, desk));
    match exit {
        Exit::Stopped => info!("Worker stopped"),
        Exit::TimeLimit => info!("Worker stopped at its time limit"),
        Exit::ServerLost => bail!("the connection to the server was lost"),
        Exit::Refused(reason) => bail!("the server refused this worker: {reason}"),
        Exit::Interrupted => bail!("the worker was interrupted"),
    }
    Ok(())
}

/// The socket of messages, in a directory that no other user can enter: directories of tasks can be on file systems without
/// sockets, and have names too long for one. So can the temporary one: then in `/tmp`, else there is none, and tasks are
/// given no key for it.
fn notify_desk(temporary: PathBuf) -> Option<(TempDir, Arc<NotifyDesk>)> {
    let open = |dir: PathBuf| {
        let dir = tempfile::Builder::new().prefix("hq-notify-").tempdir_in(dir)?;
        let desk = NotifyDesk::open(dir.path())?;
        anyhow::Ok((dir, Arc::new(desk)))
    };
    let desk = open(temporary).or_else(|error| open("/tmp".into()).map_err(|_| error));
    desk.inspect_err(|error| warn!("Tasks of this worker cannot use `hq task notify`: {error:#}")).ok()
}

/// Programs find this program in the variable `HQ`, and the key to say something to those who watch in `HQ_ACCESS_KEY`.
fn runners(config: &WorkerConfig, desk: Option<Arc<NotifyDesk>>) -> anyhow::Result<Runners> {
    let mut options = ProgramOptions::new(Arc::new(config.resources.clone()), config.work_dir.as_str());
    if let Ok(hq) = std::env::current_exe() {
        options.env.push((b"HQ".to_vec(), hq.as_os_str().as_bytes().to_vec()));
    }
    options.notify = desk;
    let programs = ProgramRunner::new(options).context("cannot start the threads that start programs")?;
    Ok(Runners::new().with(PROGRAM_KIND, Arc::new(programs)))
}

fn show(id: WorkerId, config: WorkerConfig, context: &mut Context) -> anyhow::Result<()> {
    let config = Arc::new(config);
    let worker = WorkerInfo { id, config, started: now(), ended: None, runtime: None, last_task: None };
    match context.out.mode() {
        Mode::Cli => context.out.table(&worker_details(&worker))?,
        Mode::Json => context.out.json(&worker_json(&worker, false))?,
        Mode::Quiet => {}
    }
    context.out.flush()
}
