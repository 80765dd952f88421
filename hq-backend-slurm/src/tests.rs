//! Tables of words, of answers and of recorded commands.

use std::path::Path;

use hq_backend::{AllocationStatus, CommandOutput};
use hq_conformance::{
    commands::{answer, transcript},
    table::check_table,
};
use proptest::prelude::*;

use crate::{backend::submitted, refusal::refusal, show::Shown};

fn testdata(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file)
}

fn shown(status: Option<AllocationStatus>) -> String {
    let time = |time: Option<hq_backend::UnixTime>| time.map_or(String::new(), |time| format!(" at {}", time.0));
    match status {
        None => "no status".to_owned(),
        Some(AllocationStatus::Queued { reason }) => {
            format!("queued{}", reason.map_or(String::new(), |reason| format!(": {reason}")))
        }
        Some(AllocationStatus::Running { started }) => format!("running{}", time(started)),
        Some(AllocationStatus::Unclear { state }) => format!("unclear: {state}"),
        Some(AllocationStatus::Ended(end)) => {
            let error = end.error.map_or(String::new(), |error| format!(": {error}"));
            let may = if end.may_return { ", may return" } else { "" };
            format!("ended{} {:?}{may}{error}", time(end.ended), end.cause)
        }
    }
}

fn show(text: &str, id: &str) -> String {
    shown(Shown::read(text, id).status())
}

#[test]
fn states() {
    check_table(&testdata("states.txt"), 60, |kind, text| {
        let requeue = if kind == "final" { 0 } else { 1 };
        show(
            &format!("JobId=7 JobName=x\n   JobState={text} Reason=None Dependency=(null)\n   Requeue={requeue}\n"),
            "7",
        )
    });
}

#[test]
fn answers() {
    check_table(&testdata("answers.txt"), 40, |kind, text| match kind {
        "submitted" => submitted(text).map_or("none".to_owned(), |id| id.0),
        "show" => show(text, "7"),
        "error" => {
            let error = refusal("submit", "sbatch", Ok(answer(1, "", text)));
            let doubt = if error.is_in_doubt { ", in doubt" } else { "" };
            format!("{}{doubt}: {}", error.kind, error.message)
        }
        _ => panic!("unknown kind {kind}"),
    });
}

/// What a real Slurm answered, word by word. One row for each recorded command that we run, too.
#[test]
fn recorded_commands() {
    let text = std::fs::read_to_string(testdata("recorded.txt")).expect("recorded commands");
    let all = transcript(&text);
    let find = |command: &str| {
        let found = all.iter().find(|recorded| recorded.command == command);
        found.unwrap_or_else(|| panic!("`{command}` is not recorded")).output.clone()
    };
    check_table(&testdata("recorded-rows.txt"), 25, |kind, command| read_recorded(kind, command, find(command)));
}

fn read_recorded(kind: &str, command: &str, output: CommandOutput) -> String {
    let program = command.split(' ').next().unwrap_or_default().to_owned();
    match kind {
        "status" => {
            let id = command.rsplit(' ').next().unwrap_or_default();
            if output.is_success() { show(&output.out(), id) } else { refused("status", &program, output) }
        }
        "submit" => match submitted(&output.out()) {
            Some(id) => format!("job {id}"),
            None => refused("submit", &program, output),
        },
        "cancel" if output.is_success() => "done".to_owned(),
        "cancel" => refused("cancel", &program, output),
        _ => panic!("unknown kind {kind}"),
    }
}

fn refused(operation: &'static str, program: &str, output: CommandOutput) -> String {
    let error = refusal(operation, program, Ok(output));
    format!("{}: {}", error.kind, error.message)
}

proptest! {
    /// Any bytes at all: an answer is read or not, and nothing else happens.
    #[test]
    fn any_answer_can_be_read(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(JobId=|JobState=|RUNNING|Reason=|WorkDir=|Submitted batch job|[ \n=a7/(),]){0,24}",
    ) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), text] {
            let shown = Shown::read(&text, "7");
            shown.status();
            shown.is_of(Some(Path::new("/no/such/directory")));
            submitted(&text);
            refusal("submit", "sbatch", Ok(answer(1, &text, &text)));
        }
    }

    /// An answer that is cut anywhere says what the whole one says, or less, and never something else.
    #[test]
    fn a_cut_answer_is_no_other_answer(cut in 0..1200_usize) {
        let text = std::fs::read_to_string(testdata("recorded.txt")).expect("recorded commands");
        let recorded = transcript(&text).into_iter().find(|it| it.command == "scontrol show job 1").expect("recorded");
        let whole = String::from_utf8_lossy(&recorded.output.stdout).into_owned();
        let part = whole.get(..cut.min(whole.len())).unwrap_or(&whole);
        let status = Shown::read(part, "1").status();
        let is_less = match &status {
            None | Some(AllocationStatus::Running { .. } | AllocationStatus::Unclear { .. }) => true,
            // `R` of `RUNNING` is the short word for it, `RUN` is none.
            Some(_) => false,
        };
        prop_assert!(is_less, "{status:?} of {part:?}");
    }
}
