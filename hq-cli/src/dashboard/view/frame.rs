use hq_core::{TaskState, WallTime};
use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{
    super::model::{Model, Source, Tab},
    jobs::jobs,
    keys_help::keys_help,
    queues::queues,
    style::{colored, faint, safe, strong, task},
    workers::workers,
};
use crate::output::{clock_local, date_local};

/// Draws all of it.
pub(in crate::dashboard) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [tabs, summary, page, foot] = Layout::vertical(rows).areas(frame.area());
    head(model, frame, tabs);
    totals(model, frame, summary);
    match model.tab {
        Tab::Jobs => jobs(model, frame, page),
        Tab::Queues => queues(model, frame, page),
        Tab::Workers => workers(model, frame, page),
    }
    let text = match &model.message[..] {
        "" => "q quit  ? keys  tab other list  o/p earlier/later  k/l closer/farther  r latest".to_owned(),
        message => safe(message),
    };
    let style = if model.message.is_empty() { faint() } else { strong() };
    frame.render_widget(Paragraph::new(text).style(style), foot);
    if model.help {
        keys_help(frame, frame.area());
    }
}

fn head(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let time = timeline(model);
    let width = u16::try_from(time.chars().count()).unwrap_or(u16::MAX);
    // Where there is no room for both, the time goes.
    let room = if area.width >= width.saturating_add(44) { width } else { 0 };
    let [left, right] = Layout::horizontal([Constraint::Min(0), Constraint::Length(room)]).areas(area);
    let mut spans = vec![];
    for tab in Tab::ALL {
        let (title, key) = tab.title();
        let style = if tab == model.tab { strong().reversed() } else { faint() };
        spans.push(Span::styled(format!(" {title} ({key}) "), style));
    }
    frame.render_widget(Line::from(spans), left);
    frame.render_widget(Line::styled(time, strong()).alignment(Alignment::Right), right);
}

/// What is looked at, and when.
fn timeline(model: &Model) -> String {
    let label = match (model.source, model.timeline.is_latest()) {
        (Source::Replay, _) => "REPLAY",
        (Source::Live { .. }, true) => "LIVE",
        (Source::Live { has_past: true }, false) => "PAST",
        // Curves are of the past, lists are not.
        (Source::Live { has_past: false }, false) => "LIVE LISTS",
    };
    let (start, end) = (model.timeline.start(), model.timeline.end());
    format!("{label} {}-{} ({})", clock(model, start), clock(model, end), whole_seconds(model.timeline.span()))
}

fn totals(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let sum = model.totals();
    let there = model.workers.values().filter(|worker| worker.ended.is_none()).count();
    let mut spans = vec![Span::raw(format!(" {}  jobs: {} ", safe(&model.title), model.jobs.len()))];
    for state in [
        TaskState::Running,
        TaskState::Waiting,
        TaskState::Finished,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::Aborted,
    ] {
        if sum.of(state) > 0 {
            let text = format!(" {} {} ", sum.of(state), state.label().to_lowercase());
            spans.push(Span::styled(text, colored(model.colors, task(state))));
        }
    }
    if !model.workers.is_empty() {
        spans.push(Span::raw(format!(" workers: {there} ")));
    }
    if let Some(rate) = model.history.rate().filter(|_| model.moment().is_none()) {
        spans.push(Span::raw(format!(" {rate} tasks/s")));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Without what is less than a second.
fn whole_seconds(span: hq_core::Span) -> hq_core::Span {
    hq_core::Span::secs(span.0 / 1_000_000)
}

/// `07:32:45`, with the day where that matters.
pub(super) fn clock(model: &Model, time: WallTime) -> String {
    const DAY: u64 = 24 * 3600 * 1_000_000;
    if model.timeline.span().0 >= DAY || model.timeline.last().0.saturating_sub(time.0) >= DAY {
        return date_local(time, &model.zone);
    }
    clock_local(time, &model.zone)
}

/// A moment that may not have come.
pub(super) fn clock_of(model: &Model, time: Option<WallTime>) -> String {
    time.map_or_else(String::new, |time| clock(model, time))
}
