use clap::ValueEnum;
use hq_core::{ClientReply, ClientRequest, JobState, Selector};
use tracing::info;

use crate::{context::Context, parse, server::unexpected};

/// Options of `job forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job forget all\n  hq job forget 1-10 --filter finished")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
    /// Forget only jobs in these states
    #[arg(
        long,
        alias = "status",
        value_name = "STATES",
        value_delimiter = ',',
        default_value = "finished,failed,aborted,canceled"
    )]
    filter: Vec<Ended>,
}

/// A state of jobs that have ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ended {
    /// All ended well.
    Finished,
    /// Some ended badly.
    Failed,
    /// Some ended because of others.
    Aborted,
    /// Some ended by the user.
    Canceled,
}

/// Drops ended jobs from the books.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let state = |state: &Ended| match state {
        Ended::Finished => JobState::Finished,
        Ended::Failed => JobState::Failed,
        Ended::Aborted => JobState::Aborted,
        Ended::Canceled => JobState::Canceled,
    };
    let server = context.server().await?;
    let are_named = matches!(args.selector, Selector::Ids(_));
    let request = ClientRequest::ForgetJobs { jobs: args.selector, states: args.filter.iter().map(state).collect() };
    let (forgotten, ignored) = match server.call(request).await? {
        ClientReply::Forgotten { forgotten, ignored } => (forgotten, ignored),
        other => return Err(unexpected(other).into()),
    };
    let report = report(forgotten, ignored);
    info!("{report}");
    if are_named && ignored > 0 {
        context.out.note_fault(report);
    }
    Ok(())
}

fn report(forgotten: u64, ignored: u64) -> String {
    let noun = if forgotten == 1 { "job" } else { "jobs" };
    let mut text = format!("{forgotten} {noun} were forgotten");
    if ignored > 0 {
        text += &format!(", {ignored} were ignored due to wrong state or invalid ID");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::report;

    #[test]
    fn reports() {
        for (forgotten, ignored, expected) in [
            (6, 1, "6 jobs were forgotten, 1 were ignored due to wrong state or invalid ID"),
            (1, 0, "1 job were forgotten"),
            (0, 0, "0 jobs were forgotten"),
        ] {
            assert_eq!(report(forgotten, ignored), expected);
        }
    }
}
