use crate::{dir::StreamDir, index::add};

/// Numbers about a stream directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Stream files, readable or not.
    pub files: u64,
    /// Jobs.
    pub jobs: u64,
    /// Tasks.
    pub tasks: u64,
    /// Runs of tasks.
    pub streams: u64,
    /// Newest runs whose output has not ended.
    pub opened: u64,
    /// Bytes of newest runs, by channel.
    pub sizes: [u64; 2],
    /// Runs of tasks that have a newer one.
    pub superseded: u64,
    /// Their bytes, by channel.
    pub superseded_sizes: [u64; 2],
}

impl StreamDir {
    /// Counts what there is.
    pub fn summary(&self) -> Summary {
        let mut summary =
            Summary { files: self.files.len() as u64, jobs: self.jobs().count() as u64, ..Summary::default() };
        for runs in self.index.tasks.values() {
            let Some((newest, superseded)) = runs.split_first() else { continue };
            summary.tasks += 1;
            summary.streams += runs.len() as u64;
            summary.opened += u64::from(newest.end.is_none());
            add(&mut summary.sizes, newest.sizes);
            summary.superseded += superseded.len() as u64;
            superseded.iter().for_each(|run| add(&mut summary.superseded_sizes, run.sizes));
        }
        summary
    }
}
