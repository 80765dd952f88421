//! Tables of answers and of recorded commands.

use std::path::{Path, PathBuf};

use hq_backend::{AllocationStatus, CommandOutput, UnixTime};
use hq_conformance::{
    commands::{answer, transcript},
    table::check_table,
};
use proptest::prelude::*;

use crate::{
    backend::{is_cancelled, submitted},
    job::{Job, Jobs},
    refusal::refusal,
};

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file)
}

fn shown(status: Option<AllocationStatus>) -> String {
    let time = |time: Option<UnixTime>| time.map_or(String::new(), |time| format!(" at {}", time.0));
    match status {
        None => "no status".to_owned(),
        Some(AllocationStatus::Queued { reason }) => {
            format!("queued{}", reason.map_or(String::new(), |reason| format!(": {reason}")))
        }
        Some(AllocationStatus::Running { started }) => format!("running{}", time(started)),
        Some(AllocationStatus::Unclear { state }) => format!("unclear: {state}"),
        Some(AllocationStatus::Ended(end)) => {
            let error = end.error.map_or(String::new(), |error| format!(": {error}"));
            format!("ended{} {:?}{error}", time(end.ended), end.cause)
        }
    }
}

fn of_json(text: &str, id: &str) -> String {
    match Jobs::read(text) {
        None => "no JSON".to_owned(),
        Some(jobs) => jobs.get(id).map_or("no such job".to_owned(), |job| shown(job.status())),
    }
}

fn of_text(text: &str) -> String {
    shown(Job::of_text(text).and_then(|job| job.status()))
}

fn refused(operation: &'static str, program: &str, output: CommandOutput) -> String {
    let error = refusal(operation, program, Ok(output));
    let doubt = if error.is_in_doubt { ", in doubt" } else { "" };
    format!("{}{doubt}: {}", error.kind, error.message)
}

#[test]
fn answers() {
    let none = || "none".to_owned();
    check_table(&testdata("answers.txt"), 60, |kind, text| match kind {
        "submitted" => submitted(text, true).map_or_else(none, |id| id.0),
        "failed" => submitted(text, false).map_or_else(none, |id| id.0),
        "state" => of_json(&format!(r#"{{"Jobs":{{"7.pbs1":{{"job_state":"{text}"}}}}}}"#), "7.pbs1"),
        "end" => {
            let (exit, substate) = text.split_once(' ').expect("two numbers");
            let exit = if exit == "-" { String::new() } else { format!(r#""Exit_status":{exit},"#) };
            let job = format!(r#"{{"Jobs":{{"7.pbs1":{{"job_state":"F",{exit}"substate":{substate}}}}}}}"#);
            of_json(&job, "7.pbs1")
        }
        "json" => of_json(text, "7.pbs1"),
        "text" => of_text(text),
        "error" => {
            let (code, said) = text.split_once(' ').expect("a code");
            refused("submit", "qsub", answer(code.parse().expect("a code"), "", said))
        }
        _ => panic!("unknown kind {kind}"),
    });
}

/// What a real PBS answered, word by word.
#[test]
fn recorded_commands() {
    let text = std::fs::read_to_string(testdata("recorded.txt")).expect("recorded commands");
    let all = transcript(&text);
    check_table(&testdata("recorded-rows.txt"), 30, |kind, command| {
        let found = all.iter().find(|recorded| recorded.command == command);
        let output = found.unwrap_or_else(|| panic!("`{command}` is not recorded")).output.clone();
        let program = command.split(' ').next().unwrap_or_default().to_owned();
        let id = command.rsplit(' ').next().unwrap_or_default();
        match kind {
            "submit" => match submitted(&output.out(), output.is_success()) {
                Some(id) => format!("job {id}"),
                None => refused("submit", &program, output),
            },
            "cancel" if is_cancelled(&output) => "done".to_owned(),
            "cancel" => refused("cancel", &program, output),
            "json" => of_json(&output.out(), id),
            "text" => of_text(&output.out()),
            _ => panic!("unknown kind {kind}"),
        }
    });
}

proptest! {
    /// Any bytes at all: an answer is read or not, and nothing else happens.
    #[test]
    fn any_answer_can_be_read(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(Job Id: |job_state = |\\{|\"Jobs\":|\"7.pbs1\":|\"job_state\":|\"R\"|[}\n\t :=,\"]){0,24}",
    ) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), text] {
            of_json(&text, "7.pbs1");
            of_text(&text);
            submitted(&text, true);
            refused("submit", "qsub", answer(1, &text, &text));
        }
    }

    /// An answer in JSON that is cut anywhere is none.
    #[test]
    fn a_cut_answer_is_none(cut in 0..4000_usize) {
        let text = std::fs::read_to_string(testdata("recorded.txt")).expect("recorded commands");
        let all = transcript(&text);
        let whole = all.iter().find(|it| it.command == "qstat -f -F json 1.pbs1").expect("recorded");
        let whole = whole.output.out().trim_end().to_owned();
        let part = whole.get(..cut.min(whole.len() - 1)).unwrap_or_default();
        prop_assert_eq!(of_json(part, "1.pbs1"), "no JSON");
    }
}
