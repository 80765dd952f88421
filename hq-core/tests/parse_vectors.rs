//! What texts are read as, and what is wrong with them and where: the table in `testdata/parse.txt`.
//!
//! A line is a kind, the text in backticks, `=>` and what comes of it. `UPDATE=1` rewrites what is behind `=>`.
//!
//! | kind | text |
//! |---|---|
//! | `amount` | an amount; shown as text and in 1/10,000 |
//! | `float` | a number of a job file or program |
//! | `weight` | the weight of a request |
//! | `cpus`, `def` | the definition of cpus, of any resource |
//! | `worker` | definitions, joined by `;`, perhaps with `couple …` last |
//! | `quantity`, `entry`, `request` | how much, of what; entries joined by `;` |
//! | `variants` | requests joined by a bar; `nN` for N nodes |
//! | `couple NAME…` | a coupling of resources at these positions, each of 200 groups |
//! | `ids`, `span` | task numbers, a length of time |

#![expect(clippy::disallowed_methods, reason = "the table is a file")]

use std::fmt::{Display, Write as _};

use hq_core::{
    Amount, CouplingItem, IdList, IdListError, Quantity, Request, ResourceDef, ResourceEntry, ResourceKind,
    ResourceParseError, Span, Variants, WorkerResources,
};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/parse.txt");

#[test]
fn table() {
    let text = std::fs::read_to_string(TABLE).unwrap();
    let (mut rewritten, mut wrong) = (String::new(), vec![]);
    let mut rows = 0;
    for (n, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(rewritten, "{line}").unwrap();
            continue;
        }
        rows += 1;
        let (input, expected) = line.rsplit_once("` =>").unwrap();
        let (kind, input) = input.split_once(" `").unwrap();
        let found = read(kind, input);
        if found != expected.strip_prefix(' ').unwrap_or(expected) {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        writeln!(rewritten, "{kind} `{input}` => {found}").unwrap();
    }
    assert!(rows > 200, "only {rows} rows");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(TABLE, rewritten).unwrap();
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn read(kind: &str, text: &str) -> String {
    let (kind, names) = kind.split_once(' ').unwrap_or((kind, ""));
    let outcome = match kind {
        "amount" => text.parse().map(amount).map_err(|error: hq_core::ParseAmountError| at(error.at(), &error)),
        "float" => Amount::from_f64(text.parse().unwrap()).map(amount).map_err(|error| at(error.at(), &error)),
        "weight" => Request::weight_of(text.parse().unwrap()).map(weight).map_err(|error| error.to_string()),
        "cpus" => ResourceDef::parse_cpus(text).map(|def| definition(&def)).map_err(resource),
        "def" => ResourceDef::parse(text).map(|def| definition(&def)).map_err(resource),
        "worker" => worker(text),
        "quantity" => Quantity::parse(text).map(|quantity| quantity.to_string()).map_err(resource),
        "entry" => ResourceEntry::parse(text).map(|found| entry(&found)).map_err(resource),
        "request" => Request::parse(text.split(';')).map(|found| request(&found)).map_err(resource),
        "variants" => variants(text),
        "couple" => coupling(names, text).map_err(resource),
        "ids" => IdList::parse(text).map(|ids| format!("{ids} ({})", ids.len())).map_err(|error| ids_error(&error)),
        "span" => Span::parse(text).map(|span| format!("{span} ({}us)", span.0)).map_err(|error| error.to_string()),
        _ => panic!("unknown kind {kind}"),
    };
    outcome.unwrap_or_else(|error| format!("error {error}"))
}

fn at(at: usize, reason: &impl Display) -> String {
    format!("at {at}: {reason}")
}

fn resource(error: ResourceParseError) -> String {
    at(error.at, &error.reason)
}

fn ids_error(error: &IdListError) -> String {
    match error {
        IdListError::Syntax { at: n }
        | IdListError::TooLarge { at: n }
        | IdListError::Invalid { at: n, .. }
        | IdListError::Step { at: n, .. } => at(*n, error),
        IdListError::Overlap => error.to_string(),
    }
}

fn amount(amount: Amount) -> String {
    format!("{amount} ({})", amount.parts())
}

fn weight(parts: u32) -> String {
    let request = Request::cpus(1).unwrap().with_weight(parts).unwrap();
    amount(Amount::from_parts(request.weight().into()))
}

fn definition(def: &ResourceDef) -> String {
    let kind = match &def.kind {
        ResourceKind::List(labels) => format!("list {labels:?}"),
        ResourceKind::Range { start, end } => format!("range {start}-{end}"),
        ResourceKind::Groups(groups) => format!("groups {groups:?}"),
        ResourceKind::Sum(amount) => format!("sum {amount}"),
    };
    format!("{} {kind}", def.name)
}

fn worker(text: &str) -> Result<String, String> {
    let (defs, coupling) = text.split_once("; couple ").unwrap_or((text, ""));
    let defs = defs.split(';').map(|def| ResourceDef::parse(def).unwrap()).collect();
    let mut worker = WorkerResources::new(defs, vec![]).map_err(|error| error.to_string())?;
    if !coupling.is_empty() {
        worker = worker.with_coupling(coupling).map_err(resource)?;
    }
    let defs = worker.resources().iter().map(|def| format!("{} {}", def.name, def.kind.total()));
    Ok(defs.chain(worker.coupling().iter().map(item)).collect::<Vec<_>>().join("; "))
}

fn entry(entry: &ResourceEntry) -> String {
    format!("{}: {}", entry.resource, entry.quantity)
}

fn request(request: &Request) -> String {
    request.entries().iter().map(entry).collect::<Vec<_>>().join("; ")
}

fn variants(text: &str) -> Result<String, String> {
    let of = |text: &str| match text.strip_prefix('n') {
        Some(nodes) => Request::gang(nodes.parse().unwrap()),
        None => Request::parse(text.split(';').filter(|entry| !entry.is_empty())).unwrap(),
    };
    let requests = text.split_terminator('|').map(of).collect();
    let variants = Variants::new(requests).map_err(|error| error.to_string())?;
    let shown = variants.iter().map(|of| if of.nodes() > 0 { format!("nodes: {}", of.nodes()) } else { request(of) });
    Ok(shown.collect::<Vec<_>>().join(" | "))
}

fn coupling(names: &str, text: &str) -> Result<String, ResourceParseError> {
    let resources: Vec<_> =
        names.split(' ').map(|name| ResourceDef::parse(&format!("{name}=200x1")).unwrap()).collect();
    Ok(CouplingItem::parse_list(text, &resources)?.iter().map(item).collect::<Vec<_>>().join("; "))
}

fn item(item: &CouplingItem) -> String {
    let CouplingItem { resource1_idx, group1_idx, resource2_idx, group2_idx, weight } = item;
    format!("({resource1_idx},g{group1_idx})-({resource2_idx},g{group2_idx}) w{weight}")
}
