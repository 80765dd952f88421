use proptest::prelude::*;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use super::draw;
use crate::{
    dashboard::{
        model::{Model, News, Sight, Source, tests::press},
        sample::{at, many_jobs, model},
    },
    output::inert,
    testing::golden,
};

fn drawn(model: &Model, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    terminal.draw(|frame| draw(model, frame)).expect("memory");
    terminal.backend().buffer().clone()
}

/// The screen as lines, without blanks at their ends.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let lines = buffer.content.chunks(width).map(|cells| cells.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn pages_in_several_sizes() {
    for (name, keys) in
        [("jobs", "j"), ("tasks", "end tab down"), ("queues", "a"), ("workers", "w"), ("help", "?"), ("past", "o")]
    {
        for (width, height) in [(120, 40), (80, 24), (40, 10), (1, 1)] {
            let mut model = model(Source::Live { has_past: true });
            press(&mut model, keys);
            if keys.starts_with("end") {
                let detail = crate::testing::samples::running_array();
                model.see(News { of: None, sight: Sight::Job(Box::new(detail)) });
                press(&mut model, "down");
            }
            golden(&format!("dashboard/{name}_{width}x{height}.txt"), &text(&drawn(&model, width, height)));
        }
    }
}

#[test]
fn a_journal_and_a_message() {
    let mut model = model(Source::Replay);
    model.see(News { of: None, sight: Sight::Message("record 7 is \u{1b}[31mdamaged".to_owned()) });
    golden("dashboard/replay_80x24.txt", &text(&drawn(&model, 80, 24)));
}

#[test]
fn nothing_seen_yet() {
    for (name, keys) in [("jobs", "j"), ("queues", "a"), ("workers", "w")] {
        let source = Source::Live { has_past: false };
        let mut model = Model::new(source, "server asShcJ".to_owned(), at(0), jiff::tz::TimeZone::UTC, true);
        press(&mut model, keys);
        golden(&format!("dashboard/empty_{name}_80x24.txt"), &text(&drawn(&model, 80, 24)));
    }
}

#[test]
fn without_colours_there_are_none() {
    use ratatui::style::Color;
    for keys in ["j", "a", "w", "?"] {
        let mut model = model(Source::Replay);
        model.colors = false;
        press(&mut model, keys);
        let buffer = drawn(&model, 120, 40);
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset), "{keys}");
    }
}

#[test]
fn ten_thousand_jobs_are_one_screen() {
    let mut model = model(Source::Live { has_past: false });
    model.see(News { of: None, sight: many_jobs() });
    press(&mut model, "end up");
    let text = text(&drawn(&model, 80, 24));
    assert!(text.contains("> 502 "), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_size_is_drawn_and_nothing_acts_on_the_terminal(
        width in 0_u16..200,
        height in 0_u16..70,
        keys in prop::collection::vec(
            prop::sample::select(vec!["j", "a", "w", "up", "down", "end", "tab", "o", "l", "k", "r", "?"]), 0..8,
        ),
        is_replay in any::<bool>(),
    ) {
        let mut model = model(if is_replay { Source::Replay } else { Source::Live { has_past: true } });
        press(&mut model, &keys.join(" "));
        let buffer = drawn(&model, width, height);
        for cell in &buffer.content {
            prop_assert_eq!(inert(cell.symbol()), cell.symbol());
        }
    }
}
