use hq_core::{JobId, TaskNumber, WallTime, WorkerId};
use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{LINES_MAX, Model, News, Sight, Source};
use crate::{
    dashboard::{
        keys::action,
        sample::{at, machine, many_jobs, model, sights},
    },
    testing::table,
};

/// What keys of these names do, one after another.
pub(in crate::dashboard) fn press(model: &mut Model, keys: &str) {
    for key in keys.split_whitespace() {
        let code = match key {
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "tab" => KeyCode::Tab,
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            letter => KeyCode::Char(letter.chars().next().expect("a key")),
        };
        if let Some(action) = action(KeyEvent::new(code, KeyModifiers::NONE)) {
            model.act(action);
        }
    }
}

/// Seconds since the first moment.
fn seconds(time: WallTime) -> i64 {
    (time.0 as i64 - at(0).0 as i64) / 1_000_000
}

/// Where the model is.
fn place(model: &Model) -> String {
    let number = |id: Option<u32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let (start, end) = (seconds(model.timeline.start()), seconds(model.timeline.end()));
    let latest = if model.timeline.is_latest() { "latest" } else { "past" };
    let mut text = format!("{:?} {:?} job {}", model.tab, model.focus, number(model.job.map(|job| job.0)));
    text += &format!(" task {}/{}", model.task, model.ids.len());
    text += &format!(" worker {} queue {}", number(model.worker.map(|id| id.0)), number(model.queue.map(|id| id.0)));
    text += &format!(" allocation {} time {start}..{end} {latest}", model.allocation);
    let lists = model.moment().map_or_else(|| "now".to_owned(), |at| seconds(at).to_string());
    text += &format!(" lists {lists}");
    for (is, word) in [(model.help, " help"), (model.over, " over")] {
        text += if is { word } else { "" };
    }
    text
}

#[test]
fn keys_lead_to_places() {
    table::check("dashboard.txt", |kind, keys| {
        let source = match kind {
            "live" => Source::Live { has_past: true },
            "alone" => Source::Live { has_past: false },
            "replay" => Source::Replay,
            other => panic!("{other}"),
        };
        let mut model = model(source);
        press(&mut model, keys);
        place(&model)
    });
}

#[test]
fn what_shows_another_moment_is_no_news_for_lists() {
    let mut model = model(Source::Live { has_past: true });
    press(&mut model, "k o");
    assert!(model.moment().is_some());
    let jobs = model.jobs.clone();
    model.see(News { of: None, sight: many_jobs() });
    assert_eq!(model.jobs, jobs, "it is of now");
    assert!(model.history.of_job(JobId(LINES_MAX)).is_some(), "its curves are drawn");
    press(&mut model, "r");
    model.see(News { of: Some(at(3)), sight: many_jobs() });
    assert_eq!(model.jobs, jobs, "it is of the past");
    model.see(News { of: None, sight: many_jobs() });
    assert_ne!(model.jobs, jobs);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut model = model(Source::Live { has_past: true });
    model.see(News { of: None, sight: many_jobs() });
    assert_eq!(model.jobs.len(), LINES_MAX as usize);
    assert_eq!(model.jobs.keys().next(), Some(&JobId(501)), "the newest are kept");
    for worker in 0..5_000 {
        let sight = Sight::Hardware(WorkerId(worker), machine(1, at(300)));
        model.see(News { of: None, sight });
        model.see(News {
            of: None,
            sight: Sight::QueueChanged { queue: hq_core::QueueId(worker), at: at(1), removed: true },
        });
    }
    assert!(model.hardware.len() <= 1_000 && model.queues.len() <= 1_000);
}

#[test]
fn of_billions_of_tasks_only_those_around_the_chosen_one_are_wished_for() {
    let mut model = model(Source::Live { has_past: false });
    press(&mut model, "end tab");
    let mut detail = crate::testing::samples::array_job("0-3999999999:2");
    detail.info.id = model.job.expect("a job");
    model.see(News { of: None, sight: Sight::Job(Box::new(detail)) });
    assert_eq!(model.wish().tasks, (TaskNumber(0), TaskNumber(200)));
    press(&mut model, "end");
    assert_eq!(model.wish().tasks, (TaskNumber(3_999_999_798), TaskNumber(3_999_999_998)));
    press(&mut model, "pageup");
    assert_eq!(model.task_number(), Some(TaskNumber(3_999_999_978)));
}

#[test]
fn an_older_look_at_a_machine_replaces_no_newer_one() {
    let mut model = model(Source::Live { has_past: true });
    let newest = model.hardware[&WorkerId(1)].at;
    model.see(News { of: None, sight: Sight::Hardware(WorkerId(1), machine(1, at(1))) });
    assert_eq!(model.hardware[&WorkerId(1)].at, newest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_comes_the_choices_are_of_what_is_there(
        steps in prop::collection::vec((0_usize..64, any::<bool>(), 0_u64..400), 0..60),
    ) {
        let keys = ["j", "a", "w", "up", "down", "pageup", "pagedown", "home", "end", "tab", "esc", "o", "p", "k", "l", "r", "?"];
        let all = sights();
        let mut model = Model::new(
            Source::Live { has_past: true }, String::new(), at(0), jiff::tz::TimeZone::UTC, false,
        );
        for (choice, is_past, seconds) in steps {
            match choice.checked_sub(keys.len()) {
                None => press(&mut model, keys[choice]),
                Some(i) if i < all.len() => {
                    model.see(News { of: is_past.then(|| at(seconds)), sight: all[i].clone() });
                }
                Some(_) => model.tick(at(seconds)),
            }
            prop_assert!(model.job.is_none_or(|job| model.jobs.contains_key(&job)));
            prop_assert!(model.worker.is_none_or(|worker| model.workers.contains_key(&worker)));
            prop_assert!(model.queue.is_none_or(|queue| model.queues.contains_key(&queue)));
            prop_assert!(model.task == 0 || model.task < model.ids.len());
            prop_assert!(model.timeline.start() <= model.timeline.end());
            prop_assert!(model.timeline.end() <= model.timeline.last());
        }
    }
}
