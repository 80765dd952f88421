use hq_stream::{StreamDir, Summary};
use serde_json::{Value, json};

use crate::{
    context::Context,
    output::{Mode, Table, size},
};

/// Shows numbers about a stream directory.
pub(super) fn run(stream: &StreamDir, context: &mut Context) -> anyhow::Result<()> {
    let (path, summary) = (stream.path().to_string_lossy(), stream.summary());
    match context.out.mode() {
        Mode::Cli => context.out.table(&table(&path, &summary)),
        Mode::Json => context.out.json(&document(&path, &summary)),
        Mode::Quiet => Ok(()),
    }
}

fn table(path: &str, summary: &Summary) -> Table {
    let mut table = Table::vertical();
    table.entry("Path", path);
    for (label, count) in
        [("Files", summary.files), ("Jobs", summary.jobs), ("Tasks", summary.tasks), ("Opened streams", summary.opened)]
    {
        table.entry(label, count.to_string());
    }
    let sizes = |[stdout, stderr]: [u64; 2]| format!("{} / {}", size(stdout), size(stderr));
    table.entry("Stdout/stderr size", sizes(summary.sizes));
    table.entry("Superseded streams", summary.superseded.to_string());
    table.entry("Superseded stdout/stderr size", sizes(summary.superseded_sizes));
    table
}

fn document(path: &str, summary: &Summary) -> Value {
    let Summary { files, jobs, tasks, streams, opened, sizes, superseded, superseded_sizes } = summary;
    json!({
        "filename": path,
        "summary": {
            "n_files": files,
            "n_jobs": jobs,
            "n_tasks": tasks,
            "n_streams": streams,
            "n_opened": opened,
            "stdout_size": sizes[0],
            "stderr_size": sizes[1],
            "n_superseded": superseded,
            "superseded_stdout_size": superseded_sizes[0],
            "superseded_stderr_size": superseded_sizes[1],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    #[test]
    fn documents() {
        let summary = Summary {
            files: 2,
            jobs: 1,
            tasks: 1,
            streams: 2,
            opened: 0,
            sizes: [12, 0],
            superseded: 1,
            superseded_sizes: [6, 0],
        };
        golden("output_log_summary.txt", &table("mylog", &summary).draw(false));
        let pretty = serde_json::to_string_pretty(&document("mylog", &summary)).expect("JSON") + "\n";
        golden("output_log_summary.json", &pretty);
    }
}
