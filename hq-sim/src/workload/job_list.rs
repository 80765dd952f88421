//! Lists of jobs that people write: CSV with a header, a row per kind of job.
//!
//! ```text
//! name,  arrival, run, count, cpus,  request,           user, after
//! prep,  0,       10m, 1,     4,     ,                  anne,
//! train, 0,       2h,  500,   ,      "cpus=8; gpus=0.5", anne, prep
//! check, 1h,      90,  20,    1,     ,                  bert,
//! ```
//!
//! Columns stand in any order; all but `run` may be missing, and fields may be empty.
//!
//! | column | means | else |
//! |---|---|---|
//! | `run` | how long a task runs: `90` (s), `1.5`, `1:30:00`, `2h 5m` | |
//! | `count` | how many tasks | 1 |
//! | `name` | what `after` calls them | |
//! | `arrival` | when they come | 0 |
//! | `every` | time between two tasks of the row | all come together |
//! | `estimate` | how long their user says that they run | not said |
//! | `cpus` | as `hq submit --cpus`: `4`, `2 compact!`, `all` | 1 |
//! | `request` | `NAME=REQUEST`, `;` between resources, `\|` between alternatives | |
//! | `nodes` | whole workers, instead of `cpus` and `request` | |
//! | `time-request` | remaining life of a worker at the start | 0 |
//! | `priority` | larger first | 0 |
//! | `user` | any name | nobody |
//! | `after` | names, blanks between them: all their tasks must end first | nothing |
//!
//! ```
//! let jobs = hq_sim::workload::job_list::read("mine", "run,count,cpus\n10,3,2\n").unwrap();
//! assert_eq!((jobs.jobs().len(), jobs.work()), (3, hq_core::Span::secs(60)));
//! ```

use std::collections::BTreeMap;

use hq_core::{Amount, Policy, Quantity, Request, ResourceEntry, ResourceName, ResourceParseError, Span, Variants};

use super::{
    Workload, WorkloadError, WorkloadTask,
    csv::{Row, rows},
    frame::seconds,
};
pub use crate::text::TextError;

const COLUMNS: [&str; 13] = [
    "run",
    "count",
    "name",
    "arrival",
    "every",
    "estimate",
    "cpus",
    "request",
    "nodes",
    "time-request",
    "priority",
    "user",
    "after",
];

/// The most tasks of a list.
pub const TASKS_MAX: u64 = 5_000_000;
/// The most pairs of a task and one it waits for.
pub const EDGES_MAX: u64 = 20_000_000;

/// A row as it was read, and where its tasks are.
struct Kind {
    line: usize,
    text: String,
    /// Byte of the field `after`.
    after_at: usize,
    after: Vec<(usize, String)>,
    first: usize,
    count: usize,
}

/// Reads a list.
///
/// # Errors
/// Says what is wrong and where.
pub fn read(name: &str, text: &str) -> Result<Workload, TextError> {
    let mut rows = rows(text);
    let header = rows.next().transpose()?;
    let header = header.ok_or_else(|| TextError::new(1, "", 0, "expected a header, e.g. `run,count,cpus`"))?;
    let columns = read_header(&header)?;
    let (mut tasks, mut kinds, mut users) = (Vec::new(), Vec::<Kind>::new(), BTreeMap::new());
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in rows {
        let row = row?;
        let fields = Fields { row: &row, columns: &columns };
        if let Some(field) = row.fields.get(columns.len()) {
            return Err(fields.error_at(field.place(0), "there are more fields than columns in the header"));
        }
        let kind = read_row(&fields, &mut tasks, &mut users)?;
        if let Some((_, job)) = fields.get("name") {
            names.entry(job).or_default().push(kinds.len());
        }
        kinds.push(kind);
    }
    wait_for(&kinds, &names, &mut tasks)?;
    Workload::new(name, tasks).map_err(|error| place(&error, &kinds))
}

fn read_header(header: &Row<'_>) -> Result<Vec<&'static str>, TextError> {
    let mut columns: Vec<&'static str> = Vec::new();
    for field in &header.fields {
        let text = field.text();
        let error = |reason: String| TextError::new(header.line, header.text, field.place(0), reason);
        let known = COLUMNS.iter().find(|known| **known == text);
        let known =
            known.ok_or_else(|| error(format!("there is no column `{text}`; use some of: {}", COLUMNS.join(", "))))?;
        if columns.contains(known) {
            return Err(error(format!("the column `{text}` is there twice")));
        }
        columns.push(known);
    }
    if !columns.contains(&"run") {
        return Err(TextError::new(header.line, header.text, 0, "the column `run` is missing"));
    }
    Ok(columns)
}

/// The fields of a row by name.
struct Fields<'a> {
    row: &'a Row<'a>,
    columns: &'a [&'static str],
}

impl Fields<'_> {
    /// Text of a field that is not empty, and the byte at which it begins.
    fn get(&self, column: &str) -> Option<(usize, String)> {
        let at = self.columns.iter().position(|known| *known == column)?;
        let field = self.row.fields.get(at)?;
        let text = field.text();
        (!text.is_empty()).then(|| (field.place(0), text))
    }

    fn error_at(&self, at: usize, reason: impl Into<String>) -> TextError {
        TextError::new(self.row.line, self.row.text, at, reason)
    }

    fn span(&self, column: &str) -> Result<Option<Span>, TextError> {
        let Some((at, text)) = self.get(column) else { return Ok(None) };
        let decimal = || text.parse().ok().and_then(seconds);
        let span = Span::parse(&text).or_else(|error| decimal().ok_or(error));
        // Sums of many must stay numbers.
        let span = span.map_err(|error| error.to_string()).and_then(|span| {
            if span <= SPAN_MAX { Ok(span) } else { Err(format!("`{text}` is longer than {SPAN_MAX}")) }
        });
        span.map(Some).map_err(|reason| self.error_at(at, format!("{column}: {reason}")))
    }

    fn number<T: std::str::FromStr>(&self, column: &str, expected: &str) -> Result<Option<T>, TextError> {
        let Some((at, text)) = self.get(column) else { return Ok(None) };
        let error = || self.error_at(at, format!("{column}: expected {expected}, and not `{text}`"));
        text.parse().map(Some).map_err(|_| error())
    }

    fn resource_error(&self, at: usize, error: &ResourceParseError) -> TextError {
        self.error_at(at + error.at, &*error.reason)
    }
}

const SPAN_MAX: Span = Span::secs(1 << 33);

fn read_row(
    fields: &Fields<'_>,
    tasks: &mut Vec<WorkloadTask>,
    users: &mut BTreeMap<String, u32>,
) -> Result<Kind, TextError> {
    let run = fields.span("run")?.ok_or_else(|| fields.error_at(0, "the field `run` is empty"))?;
    let count: u32 = fields.number("count", "a whole number")?.unwrap_or(1);
    let first = tasks.len();
    if first as u64 + u64::from(count) > TASKS_MAX {
        let at = fields.get("count").map_or(0, |(at, _)| at);
        return Err(fields.error_at(at, format!("a list can have at most {TASKS_MAX} tasks")));
    }
    let next = users.len() as u32;
    let user = fields.get("user").map(|(_, user)| *users.entry(user).or_insert(next));
    let task = WorkloadTask {
        arrival: fields.span("arrival")?.unwrap_or_default(),
        estimate: fields.span("estimate")?,
        priority: fields.number("priority", "a whole number from -2147483648 to 2147483647")?.unwrap_or(0),
        user,
        ..WorkloadTask::new(run, read_request(fields)?)
    };
    let every = fields.span("every")?.unwrap_or_default();
    let arrival = |i: u32| Span(task.arrival.0.saturating_add(every.times(i.into()).0));
    tasks.extend((0..count).map(|i| WorkloadTask { arrival: arrival(i), ..task.clone() }));
    let (after_at, after) = fields.get("after").unwrap_or_default();
    let names = pieces(after_at, &after, ' ').filter(|(_, name)| !name.is_empty());
    let after = names.map(|(at, name)| (at, name.to_owned())).collect();
    Ok(Kind { line: fields.row.line, text: fields.row.text.to_owned(), after_at, after, first, count: count as usize })
}

fn read_request(fields: &Fields<'_>) -> Result<Variants, TextError> {
    let min_time = fields.span("time-request")?.unwrap_or_default();
    let (cpus, request) = (fields.get("cpus"), fields.get("request"));
    if let Some((at, _)) = fields.get("nodes") {
        let nodes: u32 = fields.number("nodes", "a whole number above 0")?.unwrap_or(0);
        if nodes == 0 {
            return Err(fields.error_at(at, "nodes: expected a whole number above 0"));
        }
        if let Some((at, _)) = cpus.or(request) {
            return Err(fields.error_at(at, "a task on whole nodes has all that they have: leave this empty"));
        }
        return Ok(Request::gang(nodes).with_min_time(min_time).into());
    }
    let one =
        ResourceEntry { resource: ResourceName::cpus(), quantity: Quantity::Amount(Amount::units(1), Policy::Compact) };
    let cpus = match cpus {
        Some((at, text)) => {
            let quantity = Quantity::parse(&text).map_err(|error| fields.resource_error(at, &error))?;
            Some(ResourceEntry { quantity, ..one.clone() })
        }
        None => None,
    };
    let (at, text) = request.unwrap_or_default();
    let mut variants = Vec::new();
    for alternative in pieces(at, &text, '|') {
        let mut entries = Vec::new();
        for (at, entry) in pieces(alternative.0, alternative.1, ';') {
            if !entry.is_empty() {
                entries.push(ResourceEntry::parse(entry).map_err(|error| fields.resource_error(at, &error))?);
            }
        }
        let names_cpus = entries.iter().any(|entry| entry.resource.as_str() == ResourceName::CPUS);
        entries.extend(cpus.clone().or_else(|| (!names_cpus).then(|| one.clone())));
        let request = Request::new(entries).map_err(|error| fields.error_at(alternative.0, error.to_string()))?;
        variants.push(request.with_min_time(min_time));
    }
    Variants::new(variants).map_err(|error| fields.error_at(at, error.to_string()))
}

/// Pieces without blanks around them, and where each begins.
fn pieces(base: usize, text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let begins = std::iter::once(0).chain(text.match_indices(separator).map(|(at, _)| at + 1));
    let pieces = begins.zip(text.split(separator));
    pieces.map(move |(at, piece)| (base + at + piece.len() - piece.trim_start().len(), piece.trim()))
}

/// Gives the tasks of each row what they wait for.
fn wait_for(kinds: &[Kind], names: &BTreeMap<String, Vec<usize>>, tasks: &mut [WorkloadTask]) -> Result<(), TextError> {
    let mut edges = 0u64;
    for kind in kinds {
        let mut deps = Vec::new();
        for (at, name) in &kind.after {
            let rows = names
                .get(name)
                .ok_or_else(|| TextError::new(kind.line, &kind.text, *at, format!("no row has the name `{name}`")))?;
            edges += rows.iter().map(|row| kinds[*row].count as u64).sum::<u64>() * kind.count as u64;
            if edges > EDGES_MAX {
                let reason = format!("there are more than {EDGES_MAX} pairs of tasks that wait for each other");
                return Err(TextError::new(kind.line, &kind.text, *at, reason));
            }
            deps.extend(rows.iter().flat_map(|row| kinds[*row].first..kinds[*row].first + kinds[*row].count));
        }
        for task in tasks.iter_mut().skip(kind.first).take(kind.count) {
            task.deps.clone_from(&deps);
        }
    }
    Ok(())
}

/// An error among tasks, shown at the row of the task.
fn place(error: &WorkloadError, kinds: &[Kind]) -> TextError {
    let (task, reason) = match error {
        WorkloadError::NoTask { task, .. } | WorkloadError::Later { task, .. } => {
            (*task, "they wait for tasks that arrive later: give them the same `arrival`".to_owned())
        }
        WorkloadError::Cycle(task) => (*task, "these tasks wait for themselves".to_owned()),
        WorkloadError::TooMany | WorkloadError::Request(_) => (0, error.to_string()),
    };
    match kinds.iter().rfind(|kind| kind.first <= task) {
        Some(kind) => TextError::new(kind.line, &kind.text, kind.after_at, reason),
        None => TextError::new(1, "", 0, reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column() {
        let text = "\
# Three kinds.
name, arrival, run, count, every, estimate, cpus, request, time-request, priority, user, after
prep, 1m, 10m, 1, , 1:00:00, 4 scatter, , , 7, anne,
train, 60, 1.5, 2, 30, , , \"gpus=0.5; mem=10 | cpus=2\", 5m, , bert, prep prep2
prep2, 0, 90, , , , , , , , anne,
";
        let jobs = read("mine", text).unwrap();
        assert_eq!(jobs.name(), "mine");
        let [prep2, prep, first, second] = jobs.jobs() else { panic!("four tasks: {jobs:?}") };
        assert_eq!((prep2.run, prep2.request.clone()), (Span::secs(90), Request::cpus(1).unwrap().into()));
        assert_eq!((prep.arrival, prep.run, prep.estimate), (Span::secs(60), Span::secs(600), Some(Span::secs(3600))));
        assert_eq!((prep.priority, prep.user, prep2.user, first.user), (7, Some(0), Some(0), Some(1)));
        assert_eq!(prep.request, Request::parse(["cpus=4 scatter"]).unwrap().into());
        let alternatives = [Request::parse(["gpus=0.5", "mem=10", "cpus=1"]), Request::parse(["cpus=2"])];
        let alternatives = alternatives.map(|request| request.unwrap().with_min_time(Span::secs(300)));
        assert_eq!(first.request, Variants::new(alternatives.to_vec()).unwrap());
        assert_eq!((first.run, first.arrival, second.arrival), (Span::millis(1500), Span::secs(60), Span::secs(90)));
        assert_eq!([&first.deps, &second.deps], [&[0, 1], &[0, 1]]);
        assert_eq!(read("n", "run,nodes\n5,3\n").unwrap().jobs()[0].request, Request::gang(3).into());
        assert_eq!(read("n", "run\n").unwrap().jobs(), []);
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is() {
        for (text, line, column, part) in [
            ("", 1, 1, "expected a header"),
            ("count\n1\n", 1, 1, "`run` is missing"),
            ("run,size\n", 1, 5, "no column `size`; use some of: run, count"),
            ("run,run\n", 1, 5, "there twice"),
            ("run\n5\n6,7\n", 3, 3, "more fields than columns"),
            ("count,run\n1,\n", 2, 1, "`run` is empty"),
            ("count,run\n1, soon\n", 2, 4, "run: cannot read `soon`"),
            ("count,run\n1,999999999999\n", 2, 3, "longer than"),
            ("run,count\n5,-1\n", 2, 3, "count: expected a whole number, and not `-1`"),
            ("run,count\n5,4000000000\n", 2, 3, "at most 5000000 tasks"),
            ("run,priority\n5,high\n", 2, 3, "priority: expected a whole number"),
            ("run,cpus\n5,2 kompakt\n", 2, 5, "expected compact"),
            ("run,cpus\n5,0\n", 2, 3, "Zero"),
            ("run,request\n5,cpus=1; gpus=x\n", 2, 16, "x"),
            ("run,request\n5,\"a=1;a=2\"\n", 2, 4, "more than once"),
            ("run,request,cpus\n5,cpus=1,2\n", 2, 3, "more than once"),
            ("run,nodes\n5,0\n", 2, 3, "above 0"),
            ("run,nodes,cpus\n5,1,2\n", 2, 5, "leave this empty"),
            ("run,name,after\n5,a,\n5,b,a c\n", 3, 7, "no row has the name `c`"),
            ("run,name,after\n5,a,b\n5,b,a\n", 2, 5, "wait for themselves"),
            ("run,name,after,arrival\n5,a,b,0\n5,b,,9\n", 2, 5, "arrive later"),
            ("run,name,count,after\n5,a,5000,\n5,b,5000,a\n", 3, 10, "more than 20000000 pairs"),
            ("run,user\n5,\"x\n", 2, 3, "closing"),
        ] {
            let error = read("n", text).unwrap_err();
            assert!(error.reason.contains(part), "{text:?}: {error}");
            assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
        }
    }
}
