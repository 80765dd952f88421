use hq_core::{JobInfo, JobState};
use serde_json::{Map, Value};

use super::state::job_state_cell;
use crate::output::{Align, Cell, Table};

const NAME_MAX: usize = 50;

/// Which jobs are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobFilter {
    /// Those with something to do, and open ones.
    Usual,
    /// All.
    All,
    /// Exactly those in these states.
    States(Vec<JobState>),
}

impl JobFilter {
    /// Whether the job is listed.
    pub(crate) fn admits(&self, job: &JobInfo) -> bool {
        let state = job.state();
        match self {
            Self::Usual => job.is_open || matches!(state, JobState::Waiting | JobState::Running | JobState::Opened),
            Self::All => true,
            Self::States(states) => states.contains(&state),
        }
    }
}

/// Jobs in a table, and the lines below it. `total` counts the jobs that are not shown too.
pub(crate) fn job_list(jobs: &[&JobInfo], total: usize, verbose: bool) -> (Table, Vec<String>) {
    let mut columns = vec![("ID", Align::Right), ("Name", Align::Left), ("State", Align::Left), ("Tasks", Align::Left)];
    if verbose {
        columns.push(("Cancel Reason", Align::Left));
    }
    let mut table = Table::horizontal(&columns);
    for job in jobs {
        let mark = if job.is_open { "*" } else { "" };
        let mut row: Vec<Cell> = vec![
            format!("{mark}{}", job.id).into(),
            short_name(&job.spec.name).into(),
            job_state_cell(job.state()),
            job.counts.total().to_string().into(),
        ];
        if verbose {
            row.push(job.cancel_reason.as_deref().unwrap_or_default().into());
        }
        table.row(row);
    }
    let mut notes = Vec::new();
    if jobs.iter().any(|job| job.is_open) {
        notes.push("* = Open jobs".to_owned());
    }
    if jobs.len() < total {
        let (verb, noun) = if total == 1 { ("is", "job") } else { ("are", "jobs") };
        notes.push(format!("There {verb} {total} {noun} in total. Use `--all` to display all jobs."));
    }
    (table, notes)
}

/// Beginning and end of a long name.
fn short_name(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= NAME_MAX {
        return name.to_owned();
    }
    let end = chars.len() - 23;
    chars[..24].iter().chain("...".chars().collect::<Vec<_>>().iter()).chain(&chars[end..]).collect()
}

/// States as the summary lists them, and their names in JSON.
const SUMMARY: [(JobState, &str); 7] = [
    (JobState::Running, "Running"),
    (JobState::Waiting, "Waiting"),
    (JobState::Finished, "Finished"),
    (JobState::Failed, "Failed"),
    (JobState::Aborted, "Aborted"),
    (JobState::Canceled, "Canceled"),
    (JobState::Opened, "Opened"),
];

fn count(jobs: &[JobInfo], state: JobState) -> usize {
    jobs.iter().filter(|job| job.state() == state).count()
}

/// How many jobs are in each state; open ones without tasks are left out.
pub(crate) fn job_summary(jobs: &[JobInfo]) -> Table {
    let mut table = Table::horizontal(&[("Status", Align::Left), ("Count", Align::Right)]);
    for (state, _) in SUMMARY.into_iter().filter(|(state, _)| *state != JobState::Opened) {
        table.row(vec![job_state_cell(state), count(jobs, state).to_string().into()]);
    }
    table
}

fn told(jobs: &[JobInfo]) -> impl Iterator<Item = (JobState, &'static str, usize)> + '_ {
    let counted = SUMMARY.into_iter().map(|(state, name)| (state, name, count(jobs, state)));
    counted.filter(|(state, _, count)| *state != JobState::Opened || *count > 0)
}

/// The same as JSON; open jobs are counted if there are any.
pub(crate) fn job_summary_json(jobs: &[JobInfo]) -> Value {
    Value::Object(told(jobs).map(|(_, name, count)| (name.to_owned(), count.into())).collect::<Map<_, _>>())
}

/// The same as lines.
pub(crate) fn job_summary_lines(jobs: &[JobInfo]) -> Vec<String> {
    told(jobs).map(|(state, _, count)| format!("{} {count}", state.label())).collect()
}

/// The same for one job, for scripts.
pub(crate) fn quiet_line(job: &JobInfo) -> String {
    format!("{} {}", job.id, job.state().label())
}

#[cfg(test)]
mod tests {
    use hq_core::TaskCounts;

    use super::*;
    use crate::testing::{golden, samples};

    fn text((table, notes): (Table, Vec<String>)) -> String {
        table.draw(false) + &notes.iter().map(|note| format!("{note}\n")).collect::<String>()
    }

    #[test]
    fn tables() {
        let jobs = samples::jobs();
        let jobs: Vec<&JobInfo> = jobs.iter().collect();
        golden("job_list.txt", &text(job_list(&jobs, 13, false)));
        golden("job_list_verbose.txt", &text(job_list(&jobs, jobs.len(), true)));
        golden("job_list_empty.txt", &text(job_list(&[], 0, false)));
        golden("job_summary.txt", &job_summary(&samples::summary_jobs()).draw(false));
    }

    #[test]
    fn hidden_jobs_are_counted() {
        for (total, expected) in [
            (0, None),
            (1, Some("There is 1 job in total. Use `--all` to display all jobs.")),
            (2, Some("There are 2 jobs in total. Use `--all` to display all jobs.")),
        ] {
            assert_eq!(job_list(&[], total, false).1.first().map(String::as_str), expected);
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(short_name(&"é".repeat(50)), "é".repeat(50));
        assert_eq!(short_name(&("a".repeat(30) + &"b".repeat(30))), "a".repeat(24) + "..." + &"b".repeat(23));
    }

    #[test]
    fn filters() {
        let job = |open, counts| JobInfo { is_open: open, counts, ..samples::job(1) };
        let finished = job(false, TaskCounts { finished: 1, ..TaskCounts::default() });
        let open_failed = job(true, TaskCounts { failed: 1, ..TaskCounts::default() });
        let waiting = job(false, TaskCounts { waiting: 1, ..TaskCounts::default() });
        let opened = job(true, TaskCounts::default());
        let failed = JobFilter::States(vec![JobState::Failed]);
        for (filter, expected) in [
            (JobFilter::Usual, [false, true, true, true]),
            (JobFilter::All, [true; 4]),
            (failed, [false, true, false, false]),
        ] {
            let admitted = [&finished, &open_failed, &waiting, &opened].map(|job| filter.admits(job));
            assert_eq!(admitted, expected, "{filter:?}");
        }
    }

    #[test]
    fn summary_for_programs() {
        let mut jobs = samples::summary_jobs();
        let expected = r#"{"Aborted":0,"Canceled":0,"Failed":1,"Finished":1,"Running":0,"Waiting":12}"#;
        assert_eq!(job_summary_json(&jobs).to_string(), expected);
        jobs.push(JobInfo { is_open: true, ..samples::job(15) });
        assert_eq!(job_summary_json(&jobs)["Opened"], 1);
        assert_eq!(
            job_summary_lines(&jobs).join(","),
            "RUNNING 0,WAITING 12,FINISHED 1,FAILED 1,ABORTED 0,CANCELED 0,OPENED 1"
        );
    }
}
