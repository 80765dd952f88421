use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use hq_core::{
    ArgPiece, Blob, Gap, IdList, JobId, JobTarget, PROGRAM_KIND, Profile, ProgramBody, ProgramSpec, ProgramTemplate,
    Submit, TaskIds,
};

use super::{
    line::Line,
    replace::{Piece, Slot, pieces},
};
use crate::{
    commands::submit::collect_parts,
    program::{self, ENTRIES_MAX},
};

/// What a task's part costs besides its bytes.
const PART_COST: usize = 5;
/// Tasks of one call: what is known of each is kept until it has ended.
const TASKS_MAX: usize = 10_000_000;

/// The commands of all tasks.
#[derive(Debug)]
pub(super) struct Plan {
    line: Line,
    pieces: Vec<Piece>,
    shell: PathBuf,
    /// How many tasks there are; their numbers begin at 1.
    pub(super) count: u32,
}

impl Plan {
    /// # Errors
    /// For more combinations than a job can have tasks.
    pub(super) fn new(line: Line, shell: PathBuf) -> anyhow::Result<Self> {
        let count = line.count().ok_or_else(|| anyhow!("there are more combinations than a job can have tasks"))?;
        Ok(Self { pieces: pieces(&line.command), line, shell, count })
    }

    /// Refuses what is more than can be handed over, before any of it is made. `done` tasks are left out.
    ///
    /// # Errors
    /// For more tasks than can be followed.
    pub(super) fn check_size(&self, done: usize) -> anyhow::Result<()> {
        let tasks = (self.count as usize).saturating_sub(done);
        if tasks > TASKS_MAX {
            bail!("{tasks} tasks are more than can be handed over together, at most {TASKS_MAX}: divide them");
        }
        Ok(())
    }

    /// The command of task `seq`, as the shell reads it.
    pub(super) fn command(&self, seq: u32) -> String {
        let mut command = Vec::new();
        let mut values = self.values(seq).into_iter().flatten();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => command.extend_from_slice(text),
                Piece::Slot(_) => command.extend(values.next().unwrap_or_default()),
            }
        }
        String::from_utf8_lossy(&command).into_owned()
    }

    /// What is put into the command for task `seq`. None where an argument holds a zero byte.
    fn values(&self, seq: u32) -> Option<Vec<Vec<u8>>> {
        let arguments = self.line.at(seq.saturating_sub(1));
        self.slots().map(|slot| slot.value(seq, &arguments)).collect()
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Slot(slot) => Some(*slot),
            Piece::Text(_) => None,
        })
    }

    /// The shell and what it is given.
    fn template(&self, spec: ProgramSpec) -> ProgramTemplate {
        let text = |bytes: &[u8]| ArgPiece::Text(bytes.into());
        let mut slots = 0;
        let piece = |piece: &Piece| match piece {
            Piece::Text(bytes) => text(bytes),
            Piece::Slot(_) => {
                slots += 1;
                ArgPiece::Gap(slots - 1)
            }
        };
        let command = self.pieces.iter().map(piece).collect();
        let shell = text(self.shell.as_os_str().as_encoded_bytes());
        let args = vec![vec![shell], vec![text(b"-c")], command];
        ProgramTemplate { spec, args, gaps: self.slots().map(|_| Gap::default()).collect() }
    }

    /// Tasks for these numbers as part of an open job: pairs of a task's id there and the number of its arguments.
    ///
    /// # Errors
    /// For what no program can be given, and what is too much for one submit.
    pub(super) fn submit(
        &self,
        job: JobId,
        tasks: &[(u32, u32)],
        profile: Profile,
        spec: ProgramSpec,
    ) -> anyhow::Result<Submit> {
        let (mut size, mut longest) = (0, 0);
        let part = |(_, seq): &(u32, u32)| {
            let Some(values) = self.values(*seq) else { bail!("an argument of task {seq} holds a zero byte") };
            longest = longest.max(values.iter().map(Vec::len).sum());
            let part = postcard::to_stdvec(&values.into_iter().map(Blob::from).collect::<Vec<_>>())?;
            size += part.len() + PART_COST;
            if size > ENTRIES_MAX {
                bail!("the arguments are more than {} MiB together: divide them", ENTRIES_MAX >> 20);
            }
            Ok(part)
        };
        let parts = collect_parts(tasks.iter().map(part))?;
        let fixed = self.line.command.len();
        let checked = ProgramSpec { args: vec![vec![b'x'; fixed + longest].into()], ..spec.clone() };
        program::check(&checked, 0)?;
        let body = ProgramBody::Template(Box::new(self.template(spec)));
        let shared = postcard::to_stdvec(&body)?;
        let ids = TaskIds::Given(IdList::from_numbers(tasks.iter().map(|(id, _)| *id))?);
        let parts = parts.ok_or_else(|| anyhow!("the arguments are too many for one submit"))?;
        Ok(Submit { parts, ..Submit::array(JobTarget::Attach(job), ids, PROGRAM_KIND, shared.into(), profile) })
    }
}

/// The shell of the user, if it reads commands as `sh` does.
pub(super) fn usual_shell() -> PathBuf {
    let shell = std::env::var_os("SHELL").map(PathBuf::from);
    let name = |shell: &Path| shell.file_name().map(|name| name.to_owned());
    let is_known = |shell: &PathBuf| {
        name(shell).is_some_and(|name| ["sh", "bash", "dash", "ksh", "zsh"].iter().any(|known| name == *known))
    };
    shell.filter(is_known).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::line;

    #[test]
    fn far_too_many_tasks_are_refused_before_they_are_made() {
        for (count, ok) in [(10, true), (3_000, true), (60_000, false)] {
            let list = || std::iter::once(":::".to_owned()).chain((0..count).map(|n| n.to_string()));
            let words = std::iter::once("echo".to_owned()).chain(list()).chain(list()).map(Into::into).collect();
            let line = line::read(words, || Ok(vec![])).expect("a line");
            let plan = Plan::new(line, "/bin/sh".into()).expect("a plan");
            assert_eq!(plan.check_size(0).is_ok(), ok, "{count}");
            assert!(plan.check_size(plan.count as usize - 1).is_ok(), "but for one they have run");
        }
    }
}
