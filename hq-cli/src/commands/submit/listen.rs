use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use hq_client::{CallError, OutputStream};
use hq_core::{Channel, Instance, TaskNumber, TaskOutput};
use tracing::warn;

use crate::output::Output;

/// Prints what tasks print until their job has ended or the server is gone: standard output to ours, standard error to
/// ours. What goes into files as well waits for nobody: what is missing here is warned of.
pub(super) async fn print(mut stream: OutputStream, out: &mut Output) -> anyhow::Result<()> {
    let mut again = BTreeMap::new();
    let mut places = Places::default();
    while let Some(outputs) = stream.next().await {
        match outputs {
            Ok(outputs) => {
                for output in &outputs {
                    if is_new_run(output, &mut again) {
                        warn!("Task {} was started again; its output begins anew", output.task);
                    }
                    if let Some(missing) = places.pass(output) {
                        let (task, channel) = (output.task, output.channel.name());
                        warn!(
                            "Task {task}: {missing} bytes of its {channel} came too fast to be shown; see `hq job cat`"
                        );
                    }
                    match output.channel {
                        Channel::Stdout => out.raw(&output.data)?,
                        // There is nobody left to tell when this cannot be written.
                        Channel::Stderr => drop(io::stderr().write_all(&output.data)),
                    }
                }
                out.flush()?;
            }
            Err(CallError::Lost(_)) => {
                warn!("The server is gone: what tasks print from now on is not shown");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// How far the outputs of tasks have been shown.
#[derive(Debug, Default)]
struct Places(BTreeMap<(TaskNumber, Channel), (Instance, u64)>);

impl Places {
    /// Goes on behind this piece; says how many bytes before it were not heard.
    fn pass(&mut self, output: &TaskOutput) -> Option<u64> {
        let (instance, at) = self.0.entry((output.task, output.channel)).or_default();
        if *instance != output.instance {
            (*instance, *at) = (output.instance, 0);
        }
        let missing = output.offset.saturating_sub(*at);
        *at = output.offset + output.data.len() as u64;
        (missing > 0).then_some(missing)
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
    fn what_is_missing_is_noticed() {
        let mut places = Places::default();
        let mut missing = |instance, channel, offset: u64, len: usize| {
            let (task, instance, data) = (TaskNumber(1), Instance(instance), vec![0; len].into());
            places.pass(&TaskOutput { task, instance, channel, offset, data })
        };
        let (out, err) = (Channel::Stdout, Channel::Stderr);
        assert_eq!([missing(0, out, 0, 5), missing(0, err, 0, 1), missing(0, out, 5, 2)], [None; 3]);
        assert_eq!([missing(0, out, 10, 2), missing(0, out, 12, 1)], [Some(3), None]);
        assert_eq!([missing(1, out, 0, 2), missing(1, err, 4, 1)], [None, Some(4)], "a run begins anew");
    }
}
