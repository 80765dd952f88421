use std::{collections::BTreeMap, io};

use hq_core::{Channel, Instance, JobId, TaskNumber};

use crate::{
    ReadAt, Scan,
    extents::Extents,
    frame::{Chunk, End, Frame, Head},
    scan::Damage,
};

/// Ranges in all files that are kept in memory, at most: 16 MiB, besides one range per run.
const RANGES_MAX: usize = 1 << 20;
/// Gaps that are read rather than kept, in the beginning.
const FIRST_GAP: u64 = 4 << 10;

/// A task, as users name it.
pub(crate) type Task = (JobId, TaskNumber);

/// What is known of one run in one file.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) instance: Instance,
    /// Index of the file.
    pub(crate) file: u32,
    /// Bytes found, by channel.
    pub(crate) sizes: [u64; 2],
    /// Where the next chunk should go on, by channel.
    next: [u64; 2],
    /// Bytes printed, by channel, once the output has ended.
    pub(crate) end: Option<[u64; 2]>,
    /// Chunks are missing.
    has_holes: bool,
    /// Chunks are not in their order.
    pub(crate) is_disordered: bool,
    pub(crate) extents: Extents,
}

impl Run {
    fn new(instance: Instance, file: u32) -> Self {
        Self {
            instance,
            file,
            sizes: [0; 2],
            next: [0; 2],
            end: None,
            has_holes: false,
            is_disordered: false,
            extents: Extents::default(),
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let channel = chunk.channel.index();
        let len = chunk.data.len() as u64;
        self.sizes[channel] = self.sizes[channel].saturating_add(len);
        self.has_holes |= chunk.offset > self.next[channel];
        self.is_disordered |= chunk.offset < self.next[channel];
        self.next[channel] = self.next[channel].max(chunk.offset.saturating_add(len));
    }

    /// Whether something of it is known to be missing or doubled.
    pub(crate) fn is_damaged(&self) -> bool {
        self.has_holes || self.is_disordered || self.end.is_some_and(|sizes| sizes != self.sizes)
    }

    /// What makes one of two equal instances the better one.
    const fn rank(&self) -> (Instance, bool, u64, u32) {
        let [stdout, stderr] = self.sizes;
        (self.instance, self.end.is_some(), stdout.saturating_add(stderr), self.file)
    }
}

/// What is in the files of a directory.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) tasks: BTreeMap<Task, Vec<Run>>,
    ranges: usize,
    gap: u64,
}

/// What a file says of itself.
#[derive(Debug, Default)]
pub(crate) struct FileFacts {
    pub(crate) head: Option<Head>,
    pub(crate) salt: Option<u32>,
    pub(crate) damage: Damage,
}

/// Whose file it is, as far as it says so; reads no further than to the first head.
///
/// # Errors
/// As the system says.
pub(crate) fn first_head<S: ReadAt>(source: S) -> io::Result<Option<Head>> {
    let Some(mut scan) = Scan::new(source)? else { return Ok(None) };
    while let Some((_, frame)) = scan.next()? {
        if let Frame::Head(head) = frame {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

impl Index {
    /// Reads a file to its end, as file number `file`.
    ///
    /// # Errors
    /// As the system says; what was read before stays.
    pub(crate) fn read<S: ReadAt>(&mut self, file: u32, source: S) -> io::Result<FileFacts> {
        let mut facts = FileFacts::default();
        let Some(mut scan) = Scan::new(source)? else { return Ok(facts) };
        let result = loop {
            let (begin, frame) = match scan.next() {
                Ok(Some(found)) => found,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            match frame {
                Frame::Head(head) => _ = facts.head.get_or_insert(head),
                Frame::Chunk(chunk) => {
                    let (task, instance) = ((chunk.run.job, chunk.run.task), chunk.run.instance);
                    let run = run_of(&mut self.tasks, task, instance, file);
                    run.chunk(&chunk);
                    self.add_range(task, instance, file, begin..scan.position());
                }
                Frame::End(End { run, sizes, .. }) => {
                    run_of(&mut self.tasks, (run.job, run.task), run.instance, file).end = Some(sizes);
                }
            }
        };
        (facts.salt, facts.damage) = (scan.salt(), scan.damage());
        result.map(|()| facts)
    }

    fn add_range(&mut self, task: Task, instance: Instance, file: u32, range: std::ops::Range<u64>) {
        self.gap = self.gap.max(FIRST_GAP);
        let run = run_of(&mut self.tasks, task, instance, file);
        self.ranges += run.extents.add(range.start, range.end, self.gap);
        let runs = self.tasks.len();
        while self.ranges > RANGES_MAX.max(runs.saturating_mul(2)) && self.gap < u64::MAX / 2 {
            self.gap *= 2;
            let all = self.tasks.values_mut().flatten();
            self.ranges = all.map(|run| run.extents.merge(self.gap)).sum();
        }
    }

    /// Puts the newest run of each task first.
    pub(crate) fn sort(&mut self) {
        for runs in self.tasks.values_mut() {
            runs.sort_by_key(|run| std::cmp::Reverse(run.rank()));
        }
    }

    /// Whether this run in this file is the one that counts.
    pub(crate) fn is_newest(&self, task: Task, instance: Instance, file: u32) -> bool {
        let newest = self.tasks.get(&task).and_then(|runs| runs.first());
        newest.is_some_and(|run| run.instance == instance && run.file == file)
    }
}

fn run_of(tasks: &mut BTreeMap<Task, Vec<Run>>, task: Task, instance: Instance, file: u32) -> &mut Run {
    let runs = tasks.entry(task).or_default();
    // The latest is the one that goes on, nearly always.
    let at = runs.iter().rposition(|run| run.instance == instance && run.file == file);
    let at = at.unwrap_or_else(|| {
        runs.push(Run::new(instance, file));
        runs.len() - 1
    });
    &mut runs[at]
}

/// Bytes of both channels in the order of [`Channel::ALL`].
pub(crate) fn add(to: &mut [u64; 2], sizes: [u64; 2]) {
    for channel in Channel::ALL {
        to[channel.index()] = to[channel.index()].saturating_add(sizes[channel.index()]);
    }
}
