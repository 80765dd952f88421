use hq_core::WorkerInfo;

use super::resource_summary;
use crate::output::{Align, Cell, Color, Table};

/// `RUNNING`, or why the worker is gone.
pub(crate) fn worker_state(worker: &WorkerInfo) -> &'static str {
    worker.ended.map_or("RUNNING", |(_, reason)| reason.label())
}

/// Workers in a table.
pub(crate) fn worker_list(workers: &[WorkerInfo]) -> Table {
    let mut table = Table::horizontal(&[
        ("ID", Align::Right),
        ("State", Align::Left),
        ("Hostname", Align::Left),
        ("Resources", Align::Left),
        ("Manager", Align::Left),
        ("Manager Job ID", Align::Left),
    ]);
    for worker in workers {
        table.row(vec![
            worker.id.to_string().into(),
            state_cell(worker),
            worker.config.hostname.as_str().into(),
            resource_summary(&worker.config.resources, false).join("; ").into(),
            manager(worker).into(),
            manager_job(worker).into(),
        ]);
    }
    table
}

pub(super) fn state_cell(worker: &WorkerInfo) -> Cell {
    let color = if worker.ended.is_some() { Color::Red } else { Color::Green };
    Cell::colored(worker_state(worker), color)
}

pub(super) fn manager(worker: &WorkerInfo) -> String {
    worker.config.allocation.as_ref().map_or_else(|| "None".to_owned(), |job| job.manager.to_uppercase())
}

pub(super) fn manager_job(worker: &WorkerInfo) -> &str {
    worker.config.allocation.as_ref().map_or("N/A", |job| &job.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    #[test]
    fn text() {
        golden("worker_list.txt", &worker_list(&samples::workers()).draw(false));
        golden("worker_list_empty.txt", &worker_list(&[]).draw(false));
    }
}
