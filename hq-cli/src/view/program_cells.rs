use hq_core::{Pin, ProgramSpec};

use super::program::lossy;
use crate::output::{Cell, Line};

const COMMAND_WIDTH: usize = 80;

/// How the program is kept on its cpus.
pub(crate) const fn pin(spec: &ProgramSpec) -> &'static str {
    match spec.pin {
        Pin::None => "none",
        Pin::Taskset => "taskset",
        Pin::OpenMp => "omp",
    }
}

/// One argument per line, long ones broken between words.
pub(super) fn command(spec: &ProgramSpec) -> Cell {
    let lines = spec.args.iter().flat_map(|arg| lossy(arg).lines().flat_map(wrap).collect::<Vec<_>>());
    Cell(lines.map(|line| Line::code(&line)).collect())
}

/// `line` broken between words where it is too long.
fn wrap(line: &str) -> Vec<String> {
    if line.chars().count() <= COMMAND_WIDTH {
        return vec![line.to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in line.split(' ') {
        let len = word.chars().count();
        if width > 0 && width + 1 + len > COMMAND_WIDTH {
            lines.push(String::new());
            width = 0;
        }
        if let Some(last) = lines.last_mut() {
            if width > 0 {
                last.push(' ');
                width += 1;
            }
            last.push_str(word);
            width += len;
        }
    }
    lines
}

/// What the user set, sorted; `HQ_*` is ours.
pub(super) fn environment(spec: &ProgramSpec) -> Cell {
    let own = |name: &[u8]| !name.starts_with(b"HQ_");
    let mut lines: Vec<String> = spec
        .env
        .iter()
        .filter(|(name, _)| own(name))
        .map(|(name, value)| format!("{}={}", lossy(name), lossy(value)))
        .collect();
    lines.sort();
    Cell(lines.iter().map(|line| Line::plain(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        assert_eq!(wrap(&"x".repeat(81)), ["x".repeat(81)]);
        assert_eq!(wrap(&format!("{} {}", "x".repeat(79), "yy")), ["x".repeat(79), "yy".to_owned()]);
        assert_eq!(wrap("  a  b "), ["  a  b "]);
    }
}
