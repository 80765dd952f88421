use anyhow::bail;
use clap::ValueEnum;
use hq_core::{QueueSpec, ResourceDef, Span};

use crate::{parse, worker::DetectList};

/// Options of `alloc add` and `alloc dry-run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq alloc add slurm --time-limit 1h -- --partition=main --account=project-1
  hq alloc add pbs --time-limit 1h --backlog 4 --max-workers-per-alloc 2 --cpus 2x64 -- -q qexp
  hq alloc add local --time-limit 1h --cpus 4")]
pub(crate) struct Args {
    /// Allocations that may wait at a time
    #[arg(short, long, value_name = "N", default_value = "1")]
    backlog: u32,
    /// How long an allocation lives at most
    #[arg(short, long, value_name = "TIME_LIMIT", value_parser = parse::reader(parse::positive_span))]
    time_limit: Span,
    /// Workers of one allocation at most, each on a node of its own
    #[arg(short, long, value_name = "N", default_value = "1")]
    max_workers_per_alloc: u32,
    /// Queued and running workers together at most
    #[arg(long, value_name = "N")]
    max_worker_count: Option<u32>,
    /// Name of the queue
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// Cpus of a worker, e.g. `8`, `2x16` [default: those of its machine]
    #[arg(long, value_name = "DEFINITION", value_parser = text(parse::cpus_definition))]
    cpus: Option<String>,
    /// Another resource of a worker, e.g. `gpus/nvidia=[0,1]`; may be repeated
    #[arg(long, value_name = "NAME=DEFINITION", value_parser = text(parse::resource_definition))]
    resource: Vec<String>,
    /// Tasks on several nodes use workers of one group [default: id of the batch job]
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Groups that lie close to each other, e.g. `cpus[0]:gpus[0],cpus[1]:gpus[1]=64`
    #[arg(long, value_name = "SPEC", value_parser = text(parse::coupling))]
    coupling: Option<String>,
    /// Which resources workers look for: `all`, `none` or some of cpus,mem,gpus/nvidia,gpus/amd
    #[arg(long, value_name = "LIST", value_parser = text(detect_list))]
    detect_resources: Option<String>,
    /// Of each physical core take only one thread
    #[arg(long)]
    no_hyper_threading: bool,
    /// Workers stop after having nothing to do for that long [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    idle_timeout: Option<Span>,
    /// Time between overviews of the hardware, with its unit; `0s` turns them off
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::human_span))]
    overview_interval: Option<Span>,
    /// Workers take tasks only if they use at least this share of the cpus, 0.0 to 1.0
    #[arg(long, value_name = "SHARE", value_parser = text(parse::min_utilization), allow_hyphen_values = true)]
    min_utilization: Option<String>,
    /// What workers do with running tasks when the server is lost
    #[arg(long, value_name = "POLICY", default_value = "finish-running")]
    on_server_lost: OnServerLost,
    /// Make the queue without a trial submission
    #[arg(long)]
    pub(super) no_dry_run: bool,
    /// Shell command before each worker
    #[arg(long, value_name = "COMMAND")]
    worker_start_cmd: Option<String>,
    /// Shell command after each worker
    #[arg(long, value_name = "COMMAND")]
    worker_stop_cmd: Option<String>,
    /// Words before the worker's command
    #[arg(long, value_name = "COMMAND")]
    worker_wrap_cmd: Option<String>,
    /// Life of a worker [default: the time limit of its allocation]
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    worker_time_limit: Option<Span>,
    /// Further arguments for the batch system
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

/// What workers do with running tasks when the server is lost.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnServerLost {
    /// They are killed.
    Stop,
    /// They may end; nothing new is started.
    FinishRunning,
    /// They go on, and their worker comes back to the server that follows.
    Reconnect,
}

/// Keeps a value as the user wrote it, if it can be read.
fn text<T>(read: fn(&str) -> Result<T, String>) -> impl clap::builder::TypedValueParser<Value = String>
where
    T: Clone + Send + Sync + 'static,
{
    AsWritten(parse::reader(read))
}

/// See [`text`].
#[derive(Clone)]
struct AsWritten<P>(P);

impl<P: clap::builder::TypedValueParser> clap::builder::TypedValueParser for AsWritten<P> {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        self.0.parse_ref(command, arg, value).map(|_| value.to_string_lossy().into_owned())
    }
}

fn detect_list(text: &str) -> Result<DetectList, String> {
    text.parse()
}

impl Args {
    /// The queue that is asked for.
    ///
    /// # Errors
    /// For options that contradict each other.
    pub(super) fn spec(&self, backend: &str) -> anyhow::Result<QueueSpec> {
        let names_cpus = |text: &String| text.starts_with("cpus=");
        if self.cpus.is_some() && self.resource.iter().any(names_cpus) {
            bail!("Parameters --cpus and --resource cpus=... cannot be combined");
        }
        let min_utilization = self.min_utilization.as_deref().map(parse::min_utilization).transpose();
        Ok(QueueSpec {
            backend: backend.to_owned(),
            backlog: self.backlog,
            workers_per_allocation: self.max_workers_per_alloc,
            max_workers: self.max_worker_count,
            time_limit: Some(self.time_limit),
            worker: None,
            name: self.name.clone(),
            offer: self.offer(),
            min_utilization: min_utilization.map_err(anyhow::Error::msg)?.unwrap_or(0),
            worker_time_limit: self.worker_time_limit,
            idle_timeout: self.idle_timeout,
            command: vec![],
            worker_args: self.worker_args(),
            submit_args: self.args.clone(),
            start_command: self.worker_start_cmd.clone(),
            stop_command: self.worker_stop_cmd.clone(),
            wrap_command: self.worker_wrap_cmd.clone(),
        })
    }

    /// What a worker is said to have; what was accepted can be read.
    fn offer(&self) -> Option<Vec<ResourceDef>> {
        let cpus = self.cpus.iter().filter_map(|text| parse::cpus_definition(text).ok());
        let others = self.resource.iter().filter_map(|text| parse::resource_definition(text).ok());
        let all: Vec<ResourceDef> = cpus.chain(others).collect();
        (!all.is_empty()).then_some(all)
    }

    /// Options of `worker start`, in the order and with the quotes that readers of scripts expect.
    fn worker_args(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        let quoted = |text: &str| format!("\"{text}\"");
        if let Some(cpus) = &self.cpus {
            option("--cpus", quoted(cpus));
        }
        for resource in &self.resource {
            option("--resource", quoted(resource));
        }
        if let Some(coupling) = &self.coupling {
            option("--coupling", quoted(coupling));
        }
        if let Some(group) = &self.group {
            option("--group", group.clone());
        }
        if self.no_hyper_threading {
            words.push("--no-hyper-threading".to_owned());
        }
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(list) = &self.detect_resources {
            option("--detect-resources", list.clone());
        }
        if let Some(interval) = self.overview_interval {
            option("--overview-interval", quoted(&interval.to_string()));
        }
        if let Some(share) = &self.min_utilization {
            option("--min-utilization", share.clone());
        }
        let policy = match self.on_server_lost {
            OnServerLost::Stop => "stop",
            OnServerLost::FinishRunning => "finish-running",
            OnServerLost::Reconnect => "reconnect",
        };
        option("--on-server-lost", quoted(policy));
        option("--time-limit", quoted(&self.worker_time_limit.unwrap_or(self.time_limit).to_string()));
        words
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn spec(line: &str) -> QueueSpec {
        let words = std::iter::once("hq").chain(line.split(' '));
        Line::try_parse_from(words).expect("it can be read").args.spec("slurm").expect("a queue")
    }

    #[test]
    fn worker_options_are_passed_on_as_they_were_written() {
        for (line, expected) in [
            ("-t 1h10m", r#"--on-server-lost "finish-running" --time-limit "1h 10m""#),
            ("-t 60 --on-server-lost stop --worker-time-limit 30s", r#"--on-server-lost "stop" --time-limit "30s""#),
            (
                "--min-utilization 0.2 --overview-interval 10s --detect-resources cpus,mem --no-hyper-threading --group g \
                 --coupling cpus[0]:x[0] --resource x=2x3 --resource y=sum(100) --cpus 2x8 -t 1m",
                "--cpus \"2x8\" --resource \"x=2x3\" --resource \"y=sum(100)\" --coupling \"cpus[0]:x[0]\" --group g \
                 --no-hyper-threading --detect-resources cpus,mem --overview-interval \"10s\" --min-utilization 0.2 \
                 --on-server-lost \"finish-running\" --time-limit \"1m\"",
            ),
        ] {
            assert_eq!(spec(line).worker_args.join(" "), expected);
        }
    }

    #[test]
    fn what_is_given_makes_the_queue() {
        let spec = spec("-b 4 -m 2 --max-worker-count 7 -n foo -t 1h --cpus 4 -- --partition=a -q b");
        assert_eq!((spec.backlog, spec.workers_per_allocation, spec.max_workers), (4, 2, Some(7)));
        assert_eq!((spec.name.as_deref(), spec.time_limit), (Some("foo"), Some(Span::secs(3600))));
        assert_eq!(spec.submit_args, ["--partition=a", "-q", "b"]);
        assert_eq!(spec.offer.map(|offer| offer.len()), Some(1));
    }

    #[test]
    fn the_time_limit_is_required_and_cpus_are_given_once() {
        let error = Line::try_parse_from(["hq"]).expect_err("no time limit").to_string();
        assert!(error.contains("--time-limit <TIME_LIMIT>"), "{error}");
        let twice = Line::try_parse_from(["hq", "-t", "1h", "--cpus", "4", "--resource", "cpus=2"]).expect("read");
        assert!(twice.args.spec("pbs").is_err());
    }
}
