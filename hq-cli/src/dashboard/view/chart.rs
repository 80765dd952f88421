use hq_core::WallTime;
use ratatui::{
    Frame,
    layout::Rect,
    style::Color,
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Block, Chart, Dataset, GraphType},
};

use super::{
    super::model::{Model, Timeline},
    frame::clock,
    style::{colored, faint, strong},
};

/// Moments that are looked at for a curve: more than a screen is wide.
const MOMENTS: u64 = 200;

/// A curve.
pub(super) struct Curve {
    name: String,
    color: Color,
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// `value` over the time that is looked at; gaps where there is none.
    pub(super) fn over(timeline: &Timeline, name: &str, color: Color, value: impl Fn(WallTime) -> Option<u64>) -> Self {
        let (start, span) = (timeline.start(), timeline.span());
        let point = |i: u64| {
            let passed = (u128::from(span.0) * u128::from(i) / u128::from(MOMENTS)) as u64;
            Some((i as f64, value(WallTime(start.0.saturating_add(passed)))? as f64))
        };
        let points: Vec<(f64, f64)> = (0..=MOMENTS).filter_map(point).collect();
        let last = points.last().map_or_else(String::new, |(_, last)| format!(" {last}"));
        Self { name: format!("{name}{last}"), color, points }
    }
}

/// Draws curves over the time that is looked at, from 0 to `top` or to the largest value, in a frame whose title tells which colour
/// is which.
pub(super) fn chart(frame: &mut Frame<'_>, area: Rect, model: &Model, title: &str, curves: &[Curve], top: Option<u64>) {
    let mut titles = vec![Span::styled(format!(" {title}: "), strong())];
    titles.extend(
        curves.iter().map(|curve| Span::styled(format!("{} ", curve.name), colored(model.colors, curve.color))),
    );
    let block = Block::bordered().border_style(faint()).title(Line::from(titles));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let largest = curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y).fold(1.0, f64::max);
    let top = top.map_or(largest, |top| top as f64);
    // What never was is no line on the ground.
    let drawn = curves.iter().filter(|curve| curve.points.iter().any(|(_, y)| *y > 0.0));
    let sets = drawn.map(|curve| {
        Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(colored(model.colors, curve.color))
            .data(&curve.points)
    });
    let (start, end) = (clock(model, model.timeline.start()), clock(model, model.timeline.end()));
    let x = Axis::default().bounds([0.0, MOMENTS as f64]).labels([start, end]);
    let y = Axis::default().bounds([0.0, top]).labels(["0".to_owned(), format!("{top}")]);
    frame.render_widget(Chart::new(sets.collect()).x_axis(x).y_axis(y).legend_position(None), inner);
}
