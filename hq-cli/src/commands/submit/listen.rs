use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use hq_client::{CallError, OutputStream};
use hq_core::{Channel, Instance, TaskNumber, TaskOutput};
use tracing::warn;

use crate::output::Output;

/// Prints what tasks print until their job has ended or the server is gone: standard output to ours, standard error to
/// ours.
pub(super) async fn print(mut stream: OutputStream, out: &mut Output) -> anyhow::Result<()> {
    let mut again = BTreeMap::new();
    while let Some(outputs) = stream.next().await {
        match outputs {
            Ok(outputs) => {
                for output in &outputs {
                    if is_new_run(output, &mut again) {
                        warn!("Task {} was started again; its output begins anew", output.task);
                    }
                    match output.channel {
                        Channel::Stdout => out.raw(&output.data)?,
                        // There is nobody left to tell when this cannot be written.
                        Channel::Stderr => drop(io::stderr().write_all(&output.data)),
                    }
                }
                out.flush()?;
            }
            Err(CallError::Lost(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether this is the first that is heard of a later run; `again` holds tasks that were run again.
fn is_new_run(output: &TaskOutput, again: &mut BTreeMap<TaskNumber, Instance>) -> bool {
    output.instance > Instance(0) && again.insert(output.task, output.instance) != Some(output.instance)
}
