use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use hq_core::{Channel, Instance, TaskNumber, TaskOutput};
use tracing::warn;

use crate::{
    listening::{Heard, Listening},
    output::Output,
};

/// Prints what tasks print until their job has ended or the server is gone: standard output to ours, standard error to
/// ours. What goes into files as well waits for nobody, and nothing waits for a server that comes back: what is missing
/// here is warned of.
pub(super) async fn print(mut live: Listening<'_>, out: &mut Output) -> anyhow::Result<()> {
    let mut again = BTreeMap::new();
    let mut places = Places::default();
    loop {
        match live.next().await? {
            Heard::Outputs(outputs) => {
                for output in &outputs {
                    if is_new_run(output, &mut again) {
                        warn!("Task {} was started again; its output begins anew", output.task);
                    }
                    let Step { missing, known } = places.pass(output);
                    if missing > 0 {
                        let (task, channel) = (output.task, output.channel.name());
                        warn!(
                            "Task {task}: {missing} bytes of its {channel} came too fast to be shown, or while the server \
                             was away; see `hq job cat`"
                        );
                    }
                    let fresh = output.data.get(known..).unwrap_or_default();
                    match output.channel {
                        Channel::Stdout => out.raw(fresh)?,
                        // There is nobody left to tell when this cannot be written.
                        Channel::Stderr => drop(io::stderr().write_all(fresh)),
                    }
                }
                out.flush()?;
            }
            Heard::End => return Ok(()),
            Heard::Gone if live.resume().await? => {
                warn!(
                    "The server is back: what tasks printed meanwhile is not shown; see `hq job cat` where it is in files"
                );
            }
            // Who waits for the job tells it.
            Heard::Gone => return Ok(()),
        }
    }
}

/// How far the outputs of tasks have been shown.
#[derive(Debug, Default)]
struct Places(BTreeMap<(TaskNumber, Channel), (Instance, u64)>);

/// How a piece goes on from the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    /// Bytes before it that were not heard.
    missing: u64,
    /// Bytes of it that were heard before.
    known: usize,
}

impl Places {
    /// Goes on behind this piece.
    fn pass(&mut self, output: &TaskOutput) -> Step {
        let (instance, at) = self.0.entry((output.task, output.channel)).or_default();
        if *instance != output.instance {
            (*instance, *at) = (output.instance, 0);
        }
        let missing = output.offset.saturating_sub(*at);
        let known = usize::try_from(at.saturating_sub(output.offset)).unwrap_or(usize::MAX).min(output.data.len());
        *at = (*at).max(output.offset + output.data.len() as u64);
        Step { missing, known }
    }
}

/// Whether this is the first that is heard of a later run; `again` holds tasks that were run again.
fn is_new_run(output: &TaskOutput, again: &mut BTreeMap<TaskNumber, Instance>) -> bool {
    output.instance > Instance(0) && again.insert(output.task, output.instance) != Some(output.instance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_doubled_is_noticed() {
        let mut places = Places::default();
        let mut missing = |instance, channel, offset: u64, len: usize| {
            let (task, instance, data) = (TaskNumber(1), Instance(instance), vec![0; len].into());
            let Step { missing, known } = places.pass(&TaskOutput { task, instance, channel, offset, data });
            (missing, known)
        };
        let (out, err) = (Channel::Stdout, Channel::Stderr);
        assert_eq!([missing(0, out, 0, 5), missing(0, err, 0, 1), missing(0, out, 5, 2)], [(0, 0); 3]);
        assert_eq!([missing(0, out, 10, 2), missing(0, out, 12, 1)], [(3, 0), (0, 0)]);
        assert_eq!([missing(0, out, 11, 4), missing(0, out, 1, 3), missing(0, out, 15, 1)], [(0, 2), (0, 3), (0, 0)]);
        assert_eq!([missing(1, out, 0, 2), missing(1, err, 4, 1)], [(0, 0), (4, 0)], "a run begins anew");
    }
}
