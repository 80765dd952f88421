use std::collections::BTreeSet;

use hq_core::{Amount, ResourceDef, ResourceKind, WorkerResources};

/// What a worker offers, one piece per resource: `cpus 4x2` or, if `long`, `cpus: 4x2` and whether it is coupled.
pub(crate) fn resource_summary(resources: &WorkerResources, long: bool) -> Vec<String> {
    let coupled: BTreeSet<u16> =
        resources.coupling().iter().flat_map(|item| [item.resource1_idx, item.resource2_idx]).collect();
    let piece = |(index, def): (usize, &ResourceDef)| {
        let colon = if long { ":" } else { "" };
        let suffix = if long && coupled.iter().any(|i| usize::from(*i) == index) { " [coupled]" } else { "" };
        format!("{}{colon} {}{suffix}", def.name, amount(def))
    };
    resources.resources().iter().enumerate().map(piece).collect()
}

fn amount(def: &ResourceDef) -> String {
    match &def.kind {
        ResourceKind::List(labels) => labels.len().to_string(),
        ResourceKind::Range { .. } => def.kind.total().to_string(),
        ResourceKind::Groups(_) => groups(&def.kind.group_sizes()),
        ResourceKind::Sum(amount) if def.name.as_str() == "mem" => memory(*amount),
        ResourceKind::Sum(amount) => amount.to_string(),
    }
}

/// A resource with all its labels: `cpus: [[0,1],[2,3]]`.
pub(crate) fn resource_description(def: &ResourceDef) -> String {
    let list = |labels: &[String]| format!("[{}]", labels.join(","));
    let text = match &def.kind {
        ResourceKind::List(labels) => list(labels),
        ResourceKind::Range { start, end } if start == end => format!("[{start}]"),
        ResourceKind::Range { start, end } => format!("range({start}-{end})"),
        ResourceKind::Groups(groups) => {
            format!("[{}]", groups.iter().map(|group| list(group)).collect::<Vec<_>>().join(","))
        }
        ResourceKind::Sum(amount) => format!("sum({amount})"),
    };
    format!("{}: {text}", def.name)
}

/// `4x2` for four groups of two; groups of different sizes by size: `1x1 2x3`.
fn groups(sizes: &[u32]) -> String {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let runs = sizes.chunk_by(|a, b| a == b);
    runs.map(|run| format!("{}x{}", run.len(), run[0])).collect::<Vec<_>>().join(" ")
}

/// An amount of MiB.
fn memory(mib: Amount) -> String {
    let value = mib.parts() as f64 / Amount::PARTS as f64;
    if value < 512.0 { format!("{value:.2} MiB") } else { format!("{:.2} GiB", value / 1024.0) }
}

#[cfg(test)]
mod tests {
    use hq_core::CouplingItem;

    use super::*;

    fn resources(defs: &[&str], coupling: Vec<CouplingItem>) -> WorkerResources {
        let defs = defs.iter().map(|text| ResourceDef::parse(text).expect("a definition")).collect();
        WorkerResources::new(defs, coupling).expect("resources")
    }

    #[test]
    fn vectors() {
        for (def, expected) in [
            ("cpus=10", "cpus 10"),
            ("cpus=[a,b]", "cpus 2"),
            ("cpus=range(3-5)", "cpus 3"),
            ("cpus=4x2", "cpus 4x2"),
            ("cpus=[[1,2,3],[4],[5,6]]", "cpus 1x1 1x2 1x3"),
            ("cpus=[[1,2],[4],[5,6]]", "cpus 1x1 2x2"),
        ] {
            assert_eq!(resource_summary(&resources(&[def], vec![]), false), [expected]);
        }
        let many = resources(&["small=sum(0.5)", "cpus=1", "fairy=sum(1000_1000)", "mem=sum(4218.88)"], vec![]);
        assert_eq!(resource_summary(&many, false), ["cpus 1", "fairy 10001000", "mem 4.12 GiB", "small 0.5"]);
        let little = resources(&["cpus=1", "mem=sum(100)"], vec![]);
        assert_eq!(resource_summary(&little, true), ["cpus: 1", "mem: 100.00 MiB"]);
    }

    #[test]
    fn descriptions() {
        for (def, expected) in [
            ("gpus=[1,3]", "gpus: [1,3]"),
            ("gpus=[foo,bar]", "gpus: [foo,bar]"),
            ("cpus=[[0,1],[2,3]]", "cpus: [[0,1],[2,3]]"),
            ("x=range(0-3)", "x: range(0-3)"),
            ("x=range(1-1)", "x: [1]"),
            ("mem=sum(5)", "mem: sum(5)"),
            ("mem=sum(5.25)", "mem: sum(5.25)"),
        ] {
            assert_eq!(resource_description(&ResourceDef::parse(def).expect("a definition")), expected);
        }
    }

    #[test]
    fn couplings_are_named_in_the_long_form() {
        let item = CouplingItem { resource1_idx: 0, group1_idx: 0, resource2_idx: 2, group2_idx: 1, weight: 256 };
        let coupled = resources(&["cpus=2x3", "ddd=sum(123)", "foo=2x3"], vec![item]);
        assert_eq!(resource_summary(&coupled, true), ["cpus: 2x3 [coupled]", "ddd: 123", "foo: 2x3 [coupled]"]);
        assert_eq!(resource_summary(&coupled, false), ["cpus 2x3", "ddd 123", "foo 2x3"]);
    }
}
