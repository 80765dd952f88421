use std::fmt::{self, Write as _};

/// Text for a place between tags or in a quoted attribute. What XML cannot hold is replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A length in the picture, to a tenth of a pixel.
#[derive(Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round();
        if tenths % 10.0 == 0.0 { write!(f, "{}", tenths / 10.0) } else { write!(f, "{:.1}", self.0) }
    }
}

/// Where a text is anchored.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Elements of a picture, in order. Looks are classes, see [`STYLE`].
#[derive(Default)]
pub(super) struct Drawing(pub(super) String);

impl Drawing {
    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.add(format_args!(
            r#"<text x="{}" y="{}" text-anchor="{anchor}" class="{class}">{text}</text>"#,
            Px(x),
            Px(y)
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" class="{class}"/>"#,
            Px(x1),
            Px(y1),
            Px(x2),
            Px(y2)
        ));
    }

    /// A rectangle of that corner and size; what a pointer on it shows.
    pub(super) fn rect(&mut self, at: (f64, f64), size: (f64, f64), class: &str, opacity: f64, tip: &str) {
        let opacity = if opacity < 1.0 { format!(r#" fill-opacity="{opacity:.2}""#) } else { String::new() };
        let end = if tip.is_empty() { "/>".to_owned() } else { format!("><title>{}</title></rect>", escape(tip)) };
        self.add(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" class="{class}"{opacity}{end}"#,
            Px(at.0),
            Px(at.1),
            Px(size.0),
            Px(size.1)
        ));
    }

    /// Steps through these points, each level held until the next, closed along `base` where that is given.
    pub(super) fn steps(&mut self, points: &[(f64, f64)], end: f64, base: Option<f64>, class: &str) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let mut path = String::new();
        // Writing to a string does not fail.
        _ = match base {
            Some(base) => write!(path, "M{} {}V{}", Px(first.0), Px(base), Px(first.1)),
            None => write!(path, "M{} {}", Px(first.0), Px(first.1)),
        };
        for (x, y) in &points[1..] {
            _ = write!(path, "H{}V{}", Px(*x), Px(*y));
        }
        _ = write!(path, "H{}", Px(end.max(last.0)));
        if let Some(base) = base {
            _ = write!(path, "V{}Z", Px(base));
        }
        self.add(format_args!(r#"<path d="{path}" class="{class}"/>"#));
    }

    pub(super) fn add(&mut self, element: fmt::Arguments<'_>) {
        _ = writeln!(self.0, "{element}");
    }
}

/// How many colours there are for kinds of tasks: classes `k0`, `k1`, …
pub(super) const COLOURS: usize = 8;

/// Looks on light and on dark ground. Plain rules, since not every viewer knows variables.
pub(super) const STYLE: &str = "\
text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px;fill:#1f2328}
.ground{fill:#ffffff}
.title{font-size:18px;font-weight:600}
.head{font-size:14px;font-weight:600}
.faint{fill:#59636e}
.tick{font-size:11px;fill:#59636e}
.grid{stroke:#d1d9e0;stroke-width:1}
.axis{stroke:#818b98;stroke-width:1}
.plot{fill:#f6f8fa}
.used{fill:#4a8fdd;fill-opacity:.75}
.mean{stroke:#0a3069;stroke-width:1.5;stroke-dasharray:6 4}
.offered{fill:none;stroke:#59636e;stroke-width:1.2;stroke-dasharray:2 3}
.wait{fill:#d9822b;fill-opacity:.75}
.gone{fill:#d1d9e0}
.bar{stroke:#ffffff;stroke-width:.6}
.k0{fill:#4a8fdd}.k1{fill:#d9822b}.k2{fill:#3fa45b}.k3{fill:#c65d9b}
.k4{fill:#8a6fd1}.k5{fill:#b5a423}.k6{fill:#2fa3a3}.k7{fill:#8b949e}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.ground{fill:#0d1117}
.faint,.tick{fill:#9198a1}
.grid{stroke:#2f353d}
.axis{stroke:#656c76}
.plot{fill:#151b23}
.mean{stroke:#a5d6ff}
.offered{stroke:#9198a1}
.gone{fill:#484f58}
.bar{stroke:#0d1117}
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markup_is_escaped() {
        for (text, expected) in [
            ("a < b & c", "a &lt; b &amp; c"),
            ("\"'>", "&quot;&#39;&gt;"),
            ("\0\x1b[1m", "\u{fffd}\u{fffd}[1m"),
            ("é…", "é…"),
        ] {
            assert_eq!(escape(text), expected, "{text:?}");
        }
    }

    #[test]
    fn steps_hold_their_level() {
        let mut drawing = Drawing::default();
        drawing.steps(&[(0.0, 5.0), (2.5, 1.0)], 4.0, Some(9.0), "used");
        drawing.steps(&[], 4.0, None, "used");
        assert_eq!(drawing.0, "<path d=\"M0 9V5H2.5V1H4V9Z\" class=\"used\"/>\n");
    }
}
