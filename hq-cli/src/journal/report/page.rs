use std::fmt::Write as _;

use hq_core::{TaskState, WallTime, WorkerId};

use super::tally::{JobTally, PARTS, Tally, WorkerTally};
use crate::output::{date_utc, inert, makespan};

/// Rows of a table.
const ROWS_MAX: usize = 1000;
/// Pixels of a part of the time.
const PART: usize = 4;
const HEIGHT: f64 = 120.0;

const STYLE: &str = "\
body{font-family:system-ui,sans-serif;font-size:14px;color:#1f2328;background:#fff;max-width:1040px;margin:1.5em auto;padding:0 1em}
h1{font-size:20px}h2{font-size:16px;margin-top:1.6em}
table{border-collapse:collapse;margin:.6em 0}
th,td{text-align:left;padding:.2em .8em;border-bottom:1px solid #d1d9e0;vertical-align:top;overflow-wrap:anywhere}
pre{margin:0;white-space:pre-wrap;font-size:12px}
svg{width:100%;height:auto;display:block}
.area{fill:#0969da}.strip{fill:#1a7f37}.ground{fill:#d1d9e0;opacity:.4}.note{color:#59636e}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#2f353d}.area{fill:#4493f8}.strip{fill:#3fb950}.ground{fill:#3d444d}}
";

/// The page.
pub(crate) fn page(tally: &Tally) -> String {
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Nothing is fetched and nothing is run, whatever is in the text.
    html += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
    html += "<meta name=\"viewport\" content=\"width=device-width\">\n";
    let title = format!("Server {}", safe(&tally.server_uid));
    _ = write!(html, "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n");
    html += &summary(tally);
    html += &running(tally);
    html += &workers(tally);
    html += &jobs(tally);
    html += &failures(tally);
    html + "</body>\n</html>\n"
}

/// Text that stands for itself, whatever it is.
fn safe(text: &str) -> String {
    inert(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn summary(tally: &Tally) -> String {
    let window = tally.window;
    let busy: u64 = tally.busy.iter().fold(0, |sum, part| sum.saturating_add(*part));
    let rows = [
        ("From", date_utc(window.start)),
        ("Until", format!("{}, {} later", date_utc(window.end), makespan(window.start, window.end))),
        ("Jobs", tally.jobs.len().to_string()),
        ("Workers", tally.workers.len().to_string()),
        ("Runs of tasks", format!("{}, {} together", tally.runs, makespan(WallTime(0), WallTime(busy)))),
    ];
    table(&["", ""], rows.map(|(name, value)| vec![name.to_owned(), value]))
}

/// How many tasks ran, on average, in each part of the time.
fn running(tally: &Tally) -> String {
    let span = tally.window.end.0.saturating_sub(tally.window.start.0).max(1) as f64 / PARTS as f64;
    let values: Vec<f64> = tally.busy.iter().map(|busy| *busy as f64 / span).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let width = PARTS * PART;
    let mut svg = format!(
        "<h2>Running tasks</h2>\n<p class=\"note\">At most {most:.1} at a time, averaged over {}.</p>\n<svg viewBox=\"0 0 {width} {HEIGHT}\">\n<rect class=\"ground\" width=\"{width}\" height=\"{HEIGHT}\"/>\n",
        makespan(WallTime(0), WallTime(span as u64))
    );
    for (i, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let height = value / most * HEIGHT;
        _ = writeln!(
            svg,
            "<rect class=\"area\" x=\"{}\" y=\"{:.1}\" width=\"{PART}\" height=\"{height:.1}\"/>",
            i * PART,
            HEIGHT - height
        );
    }
    svg + "</svg>\n"
}

fn workers(tally: &Tally) -> String {
    let span = tally.window.end.0.saturating_sub(tally.window.start.0).max(1) as f64 / PARTS as f64;
    let rows = tally.workers.iter().take(ROWS_MAX).map(|(id, worker)| worker_row(tally, *id, worker, span));
    let names = ["Worker", "Host", "From", "Until", "Runs", "When it was busy"];
    format!("<h2>Workers</h2>\n{}{}", raw_table(&names, rows), more(tally.workers.len()))
}

fn worker_row(tally: &Tally, id: WorkerId, worker: &WorkerTally, span: f64) -> Vec<String> {
    let until = worker.until.map_or_else(
        || "there".to_owned(),
        |(at, reason)| format!("{} ({})", offset(tally, at), reason.label().to_lowercase()),
    );
    let most = worker.busy.iter().copied().max().unwrap_or(0).max(span as u64) as f64;
    let mut strip = format!(
        "<svg viewBox=\"0 0 {PARTS} 14\" style=\"width:360px\"><rect class=\"ground\" width=\"{PARTS}\" height=\"14\"/>"
    );
    // Parts that are alike are drawn as one.
    let mut i = 0;
    while let Some(busy) = worker.busy.get(i) {
        let len = worker.busy.iter().skip(i).take_while(|other| *other == busy).count();
        if *busy > 0 {
            let shade = (*busy as f64 / most).clamp(0.15, 1.0);
            _ = write!(strip, "<rect class=\"strip\" x=\"{i}\" width=\"{len}\" height=\"14\" opacity=\"{shade:.2}\"/>");
        }
        i += len;
    }
    vec![
        id.to_string(),
        safe(&worker.hostname),
        offset(tally, worker.from),
        safe(&until),
        worker.runs.to_string(),
        strip + "</svg>",
    ]
}

fn jobs(tally: &Tally) -> String {
    let rows = tally.jobs.iter().take(ROWS_MAX).map(|(id, job)| job_row(tally, &id.to_string(), job));
    let names = ["Job", "Name", "State", "Submitted", "Makespan", "Tasks"];
    format!("<h2>Jobs</h2>\n{}{}", table(&names, rows), more(tally.jobs.len()))
}

fn job_row(tally: &Tally, id: &str, job: &JobTally) -> Vec<String> {
    let counts = [TaskState::Finished, TaskState::Failed, TaskState::Canceled, TaskState::Aborted, TaskState::Waiting];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|state| job.counts.of(*state) > 0)
        // Who runs is not told apart from who waits.
        .map(|state| match state {
            TaskState::Waiting => format!("{} not ended", job.counts.waiting),
            state => format!("{} {}", job.counts.of(state), state.label().to_lowercase()),
        })
        .collect();
    vec![
        id.to_owned(),
        job.name.clone(),
        job.state().label().to_owned(),
        job.submitted.map(|at| offset(tally, at)).unwrap_or_default(),
        job.submitted.zip(job.ended).map(|(start, end)| makespan(start, end)).unwrap_or_default(),
        counts.join(", "),
    ]
}

fn failures(tally: &Tally) -> String {
    if tally.failures.is_empty() {
        return String::new();
    }
    let rows = tally.failures.iter().map(|(job, task, error)| {
        let lines: Vec<String> = error.lines().map(safe).collect();
        vec![format!("{job}@{task}"), format!("<pre>{}</pre>", lines.join("\n"))]
    });
    format!("<h2>First failures</h2>\n{}", raw_table(&["Task", "Error"], rows))
}

/// Since the beginning.
fn offset(tally: &Tally, at: WallTime) -> String {
    format!("+{}", makespan(tally.window.start, at))
}

fn more(count: usize) -> String {
    if count > ROWS_MAX { format!("<p class=\"note\">and {} more</p>\n", count - ROWS_MAX) } else { String::new() }
}

fn table(names: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    raw_table(names, rows.into_iter().map(|row| row.iter().map(|cell| safe(cell)).collect()))
}

/// Cells are HTML already.
fn raw_table(names: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut html = String::from("<table>\n");
    if names.iter().any(|name| !name.is_empty()) {
        let names: Vec<String> = names.iter().map(|name| format!("<th>{name}</th>")).collect();
        _ = writeln!(html, "<tr>{}</tr>", names.concat());
    }
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        _ = writeln!(html, "<tr>{}</tr>", cells.concat());
    }
    html + "</table>\n"
}

#[cfg(test)]
mod tests {
    use hq_core::{Event, EventKind, JobId, JobSpec, Seq};

    use super::*;
    use crate::{
        journal::report::Window,
        testing::{golden, samples},
    };

    fn report(events: &[Event]) -> String {
        let window = Window { start: events[0].at, end: events[events.len() - 1].at };
        let mut tally = Tally::new(window);
        events.iter().for_each(|event| tally.see(event));
        page(&tally.finish())
    }

    #[test]
    fn a_page_of_all_events() {
        golden("report.html", &report(&samples::events()));
    }

    #[test]
    fn no_text_acts() {
        let evil = "<script>alert(1)</script>\u{1b}[31m\u{202e}'\"&";
        let at = WallTime(1_000_000);
        let spec = JobSpec { name: evil.into(), max_fails: None };
        let events = [
            EventKind::ServerStarted { server_uid: evil.into() },
            EventKind::JobOpened { job: JobId(1), spec },
            EventKind::TaskFailed { job: JobId(1), task: 0.into(), error: evil.into(), run: None },
        ];
        let page = report(&events.map(|kind| Event { seq: Seq(1), at, kind }));
        assert!(!page.contains("<script") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert_eq!(page.matches("&lt;script&gt;").count(), 4);
        assert!(page.starts_with("<!DOCTYPE html>"));
    }
}
