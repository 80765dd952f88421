//! Nodes and pods of the [openb](https://github.com/hkust-adsl/kubernetes-scheduler-simulator) lists (CSV): whole GPUs, and
//! shares of one.
//!
//! | list | here |
//! |---|---|
//! | `cpu_milli` | the sum [`CPU`], in cpus; `cpus` itself needs identities, so that each node has one, which nobody asks for |
//! | `memory_mib` | the sum [`MEM`], in MiB |
//! | `gpu`, `num_gpu`, `gpu_milli` | `gpus`: indices; a share comes from one of them |
//! | `model`, `gpu_spec` | the sum `gpus/MODEL`, as much as GPUs; a choice of models is a choice of variants |
//!
//! ```
//! use hq_sim::workload::openb;
//!
//! let nodes = openb::read_nodes("sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,T4\n").unwrap();
//! assert_eq!(nodes[0].config().unwrap().resources.get("gpus").unwrap().kind.total().whole(), 2);
//! let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\np0,500,0,1,250,T4|P100,5,9\n";
//! let pods = openb::read_pods(pods).unwrap();
//! assert_eq!(pods[0].request().unwrap().count(), 2);
//! ```

use hq_core::{
    Amount, Policy, Quantity, Request, ResourceDef, ResourceEntry, ResourceKind, ResourceName, Rng, Span, Variants,
    WorkerConfig, WorkerResources,
};

use super::{Workload, WorkloadError, WorkloadTask};

/// The resource that cpu shares are.
pub const CPU: &str = "cpu";
/// The resource that memory is, in MiB.
pub const MEM: &str = "mem";
/// The resource that GPUs are.
pub const GPUS: &str = "gpus";

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// In 1/1000 cpus.
    pub cpu_milli: u64,
    /// In MiB.
    pub memory_mib: u64,
    /// How many GPUs.
    pub gpus: u32,
    /// Their model; may be empty.
    pub model: String,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// In 1/1000 cpus.
    pub cpu_milli: u64,
    /// In MiB.
    pub memory_mib: u64,
    /// How many GPUs.
    pub gpus: u32,
    /// Of each of them, in 1/1000.
    pub gpu_milli: u64,
    /// Models that will do; empty: all.
    pub models: Vec<String>,
    /// When it came.
    pub created: Span,
    /// When it went.
    pub deleted: Span,
}

/// A text that is not a list of nodes or pods.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenbError {
    /// No such column.
    #[error("line 1: the column `{0}` is missing")]
    Column(&'static str),
    /// A row that ends too early.
    #[error("line {line}: there is no field for the column `{column}`")]
    Short {
        /// Line, from 1.
        line: usize,
        /// The column.
        column: &'static str,
    },
    /// A number that is none.
    #[error("line {line}, column `{column}`: `{text}` is not a whole number up to {max}")]
    Number {
        /// Line, from 1.
        line: usize,
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
        /// The largest number that makes sense.
        max: u64,
    },
    /// A model that cannot be part of the name of a resource.
    #[error("line {line}, column `{column}`: `{text}` may hold letters and digits only")]
    Model {
        /// Line, from 1.
        line: usize,
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
    },
}

/// Reads a list of nodes.
///
/// # Errors
/// Says which column of which line is wrong.
pub fn read_nodes(text: &str) -> Result<Vec<Node>, OpenbError> {
    let table = Table::new(text, &["sn", "cpu_milli", "memory_mib", "gpu", "model"])?;
    table
        .rows()
        .map(|row| {
            let row = row?;
            Ok(Node {
                name: row.text(0).to_owned(),
                cpu_milli: row.number(1, AMOUNT_MAX)?,
                memory_mib: row.number(2, AMOUNT_MAX)?,
                gpus: row.number(3, GPUS_MAX)? as u32,
                model: row.models(4)?.pop().unwrap_or_default(),
            })
        })
        .collect()
}

/// Reads a list of pods.
///
/// # Errors
/// Says which column of which line is wrong.
pub fn read_pods(text: &str) -> Result<Vec<Pod>, OpenbError> {
    let columns =
        ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time"];
    let table = Table::new(text, &columns)?;
    table
        .rows()
        .map(|row| {
            let row = row?;
            Ok(Pod {
                name: row.text(0).to_owned(),
                cpu_milli: row.number(1, AMOUNT_MAX)?,
                memory_mib: row.number(2, AMOUNT_MAX)?,
                gpus: row.number(3, GPUS_MAX)? as u32,
                gpu_milli: row.number(4, 1000)?,
                models: row.models(5)?,
                created: Span::secs(row.number(6, AMOUNT_MAX)?),
                deleted: Span::secs(row.number(7, AMOUNT_MAX)?),
            })
        })
        .collect()
}

const AMOUNT_MAX: u64 = u32::MAX as u64;
const GPUS_MAX: u64 = 1024;

impl Node {
    /// The node as a worker; none without cpu.
    pub fn config(&self) -> Option<WorkerConfig> {
        let def = |name: &str, kind| Some(ResourceDef { name: ResourceName::new(name).ok()?, kind });
        let mut resources = vec![
            def(ResourceName::CPUS, ResourceKind::Range { start: 0, end: 0 })?,
            def(CPU, ResourceKind::Sum(milli(self.cpu_milli)))?,
        ];
        if self.memory_mib > 0 {
            resources.push(def(MEM, ResourceKind::Sum(Amount::units(u32::try_from(self.memory_mib).ok()?)))?);
        }
        if let Some(end) = self.gpus.checked_sub(1) {
            resources.push(def(GPUS, ResourceKind::Range { start: 0, end })?);
            if !self.model.is_empty() {
                resources.push(def(&model_name(&self.model), ResourceKind::Sum(Amount::units(self.gpus)))?);
            }
        }
        Some(WorkerConfig::new(self.name.clone(), WorkerResources::new(resources, vec![]).ok()?))
    }
}

impl Pod {
    /// What it needs; none for a pod that needs nothing.
    pub fn request(&self) -> Option<Variants> {
        let models: Vec<Option<&str>> = match (self.gpus, &self.models[..]) {
            (0, _) | (_, []) => vec![None],
            (_, models) => models.iter().map(|model| Some(model.as_str())).collect(),
        };
        Variants::new(models.into_iter().map(|model| self.variant(model)).collect::<Option<_>>()?).ok()
    }

    fn variant(&self, model: Option<&str>) -> Option<Request> {
        let gpus = milli(self.gpu_demand());
        let amounts = [
            (CPU.to_owned(), milli(self.cpu_milli)),
            (MEM.to_owned(), Amount::units(u32::try_from(self.memory_mib).ok()?)),
            (GPUS.to_owned(), gpus),
            (model.map(model_name).unwrap_or_default(), if model.is_some() { gpus } else { Amount::ZERO }),
        ];
        let entries = amounts.into_iter().filter(|(_, amount)| !amount.is_zero()).map(|(name, amount)| {
            let quantity = Quantity::Amount(amount, Policy::Compact);
            Some(ResourceEntry { resource: ResourceName::new(&name).ok()?, quantity })
        });
        let entries: Vec<ResourceEntry> = entries.collect::<Option<_>>()?;
        if entries.is_empty() { None } else { Request::new(entries).ok() }
    }

    /// GPUs in 1/1000, all together.
    pub fn gpu_demand(&self) -> u64 {
        u64::from(self.gpus) * self.gpu_milli
    }
}

/// The pods as they came and went; those that need nothing are left out.
///
/// # Errors
/// Hardly: for more pods than can be numbered.
pub fn workload(name: &str, pods: &[Pod]) -> Result<Workload, WorkloadError> {
    let jobs = pods.iter().filter_map(|pod| {
        let run = pod.deleted.less(pod.created);
        Some(WorkloadTask { arrival: pod.created, ..WorkloadTask::new(run, pod.request()?) })
    });
    Workload::new(name, jobs.collect())
}

/// Pods that come and do not go.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// One pod a second.
    pub workload: Workload,
    /// When as many GPUs are asked for as there are.
    pub full_at: Span,
}

/// How long a pod stays that does not go.
pub const FOR_EVER: Span = Span::secs(1 << 40);

/// The experiment of the lists' authors: arrivals only. `pods` are topped up by pods drawn from them with replacement until
/// they ask for `percent` % of `gpus`, then shuffled.
///
/// # Errors
/// As [`workload`].
pub fn arrivals(pods: &[Pod], gpus: u32, percent: u64, rng: &mut Rng) -> Result<Arrivals, WorkloadError> {
    let capacity = u64::from(gpus) * 1000;
    let mut list: Vec<&Pod> = pods.iter().filter(|pod| pod.request().is_some()).collect();
    let drawn_from = list.clone();
    let mut demand: u64 = list.iter().map(|pod| pod.gpu_demand()).sum();
    while demand > 0 && demand < capacity * percent / 100 {
        let pod = *rng.pick(&drawn_from);
        demand += pod.gpu_demand();
        list.push(pod);
    }
    for i in (1..list.len()).rev() {
        list.swap(i, rng.below(i as u64 + 1) as usize);
    }
    let (mut arrived, mut full_at) = (0, None);
    let mut jobs = Vec::with_capacity(list.len());
    for (i, pod) in list.into_iter().enumerate() {
        let Some(request) = pod.request() else { continue };
        let arrival = Span::secs(i as u64);
        arrived += pod.gpu_demand();
        if arrived >= capacity {
            full_at.get_or_insert(arrival);
        }
        jobs.push(WorkloadTask { arrival, ..WorkloadTask::new(FOR_EVER, request) });
    }
    let full_at = full_at.unwrap_or(Span::secs(jobs.len() as u64));
    Ok(Arrivals { workload: Workload::new("openb", jobs)?, full_at })
}

fn milli(milli: u64) -> Amount {
    Amount::from_parts(milli * (Amount::PARTS / 1000))
}

fn model_name(model: &str) -> String {
    format!("{GPUS}/{model}")
}

/// Columns by name of a text of comma-separated fields. The lists quote nothing.
struct Table<'a> {
    text: &'a str,
    columns: Vec<(&'static str, usize)>,
}

struct Row<'a> {
    line: usize,
    fields: Vec<(&'static str, &'a str)>,
}

impl<'a> Table<'a> {
    fn new(text: &'a str, columns: &[&'static str]) -> Result<Self, OpenbError> {
        let header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
        let find = |column: &&'static str| {
            let at = header.iter().position(|known| known == column).ok_or(OpenbError::Column(column))?;
            Ok((*column, at))
        };
        Ok(Self { text, columns: columns.iter().map(find).collect::<Result<_, _>>()? })
    }

    fn rows(&self) -> impl Iterator<Item = Result<Row<'a>, OpenbError>> {
        let lines = self.text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(i, text)| {
            let fields: Vec<&str> = text.split(',').map(str::trim).collect();
            let line = i + 1;
            let pick = |(column, at): &(&'static str, usize)| {
                let field = fields.get(*at).ok_or(OpenbError::Short { line, column })?;
                Ok((*column, *field))
            };
            Ok(Row { line, fields: self.columns.iter().map(pick).collect::<Result<_, _>>()? })
        })
    }
}

impl Row<'_> {
    fn text(&self, column: usize) -> &str {
        self.fields[column].1
    }

    fn number(&self, column: usize, max: u64) -> Result<u64, OpenbError> {
        let (column, text) = self.fields[column];
        let number = text.parse().ok().filter(|number| *number <= max);
        number.ok_or_else(|| OpenbError::Number { line: self.line, column, text: text.to_owned(), max })
    }

    fn models(&self, column: usize) -> Result<Vec<String>, OpenbError> {
        let (column, text) = self.fields[column];
        let models: Vec<String> = text.split('|').filter(|model| !model.is_empty()).map(str::to_owned).collect();
        if models.iter().any(|model| !model.bytes().all(|b| b.is_ascii_alphanumeric())) || models.len() > Variants::MAX
        {
            return Err(OpenbError::Model { line: self.line, column, text: text.to_owned() });
        }
        Ok(models)
    }
}
