//! Vectors of the autoscaler. `UPDATE=1` rewrites what is found.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

mod autoscaling;
mod common;
mod text;

use autoscaling::Rig;
use hq_core::QueueSpec;
use hq_scheduler::autoscale::Permit;
use text::table::check_table;

#[test]
fn permits() {
    check_table("autoscale_permit.txt", |cells| {
        let numbers = |text: &str| -> Vec<u32> {
            text.split_whitespace().filter(|word| *word != "-").map(|n| n.parse().unwrap()).collect()
        };
        let queued = numbers(cells[1]);
        let gangs = cells[3].split_whitespace().filter_map(|gang| gang.split_once('x'));
        let permit = Permit {
            active: queued.iter().sum(),
            queued,
            coming: 0,
            single: cells[2].parse().unwrap(),
            gangs: gangs.map(|(n, nodes)| (n.parse().unwrap(), nodes.parse().unwrap())).collect(),
        };
        let spec: QueueSpec = autoscaling::spec_of(cells[0]);
        let sizes = permit.sizes(&spec);
        if sizes.is_empty() {
            return "-".to_owned();
        }
        sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    });
}

#[test]
fn behaviour() {
    check_table("autoscale.txt", |cells| {
        let mut rig = Rig::new(cells[0]);
        let seen: Vec<String> = cells[1].split_whitespace().filter_map(|step| rig.step(step)).collect();
        seen.join(" ")
    });
}
