//! The small language in the cells of tables.

pub(crate) mod table;

use hq_core::{Amount, Request, ResourceDef, ResourceEntry, ResourceKind, ResourceName, Span, Variants};

/// A blank is written as `_`.
/// `cpus[,name=amount…][~time request in s][^weight]`, variants joined by `|`, or `nN` for N whole workers of one group.
pub(crate) fn variants_of(text: &str) -> Variants {
    Variants::new(text.split('|').map(variant_of).collect()).unwrap()
}

fn variant_of(text: &str) -> Request {
    let (text, weight) = text.split_once('^').unwrap_or((text, "1"));
    let (text, seconds) = text.split_once('~').unwrap_or((text, "0"));
    let request = match text.strip_prefix('n') {
        Some(nodes) => Request::gang(nodes.parse().unwrap()),
        None => Request::new(entries_of(&text.replace('_', " "))).unwrap(),
    };
    let weight: Amount = weight.parse().unwrap();
    request.with_min_time(Span::secs(seconds.parse().unwrap())).with_weight(weight.parts() as u32).unwrap()
}

fn entries_of(request: &str) -> Vec<ResourceEntry> {
    let parts = request.split(',').enumerate();
    let text = |(i, part): (usize, &str)| if i == 0 { format!("cpus={part}") } else { part.to_owned() };
    parts.map(|part| ResourceEntry::parse(&text(part)).unwrap()).collect()
}

/// `cpus[,name=amount…]`; the others are sums, and may be nothing.
pub(crate) fn defs_of(text: &str) -> Vec<ResourceDef> {
    let parts = text.split(',').filter(|part| !part.is_empty()).enumerate();
    let def = |(i, part): (usize, &str)| {
        if i == 0 {
            return ResourceDef::parse_cpus(part).unwrap();
        }
        let (name, amount) = part.split_once('=').unwrap();
        ResourceDef { name: ResourceName::new(name).unwrap(), kind: ResourceKind::Sum(amount.parse().unwrap()) }
    };
    parts.map(def).collect()
}
