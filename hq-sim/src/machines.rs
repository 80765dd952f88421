//! Descriptions of clusters: groups of workers, a line each, in the syntax of `hq worker start`.
//!
//! ```text
//! # how many, what each has                                     more about them
//! 32x cpus=2x64 mem=sum(256000)
//!  4x cpus=[0,1,2,3] gpus/nvidia=[a,b]                          group=gpu time-limit=2h
//!  8x cpus=16                                                   arrives=30m host=cloud
//! ```
//!
//! `;` ends a group like a line does, so that a whole cluster can be written in one: `4x cpus=32; cpus=8 gpus=[0]`. No count is 1.
//!
//! | option | means |
//! |---|---|
//! | `group=NAME` | tasks on several nodes use workers of one group; `default` without it |
//! | `host=NAME` | a name to be shown; in quotes where it has blanks |
//! | `arrives=DURATION` | they come so long after the beginning |
//! | `time-limit=DURATION` | they go so long after they came |
//! | `min-utilization=SHARE` | tasks only if they use at least this share of the cpus |
//!
//! ```
//! use hq_sim::machines;
//!
//! let groups = machines::parse("2x cpus=4; cpus=8 gpus=[0,1] time-limit=1h").unwrap();
//! assert_eq!((groups[0].count, groups[1].count), (2, 1));
//! assert_eq!(machines::parse("2x gpus=[0]").unwrap_err().to_string(), "line 1, column 1: a worker needs the resource cpus");
//! ```

use hq_core::{Amount, ResourceDef, Span, WorkerConfig, WorkerResources};

pub use crate::text::TextError;

/// Equal workers that come together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerGroup {
    /// How many.
    pub count: u32,
    /// What each is.
    pub config: WorkerConfig,
    /// When they come.
    pub arrives: Span,
}

/// The most workers of a cluster.
pub const WORKERS_MAX: u32 = 100_000;

/// Reads a description.
///
/// # Errors
/// Says what is wrong and where; a description without workers is one, and one of more than [`WORKERS_MAX`].
pub fn parse(text: &str) -> Result<Vec<WorkerGroup>, TextError> {
    let mut groups = Vec::new();
    let mut total = 0u32;
    for (i, line) in text.lines().enumerate() {
        for words in statements(line) {
            let group = read_group(&words).map_err(|(at, reason)| TextError::new(i + 1, line, at, reason))?;
            total = total.saturating_add(group.count);
            if total > WORKERS_MAX {
                let reason = format!("a cluster can have at most {WORKERS_MAX} workers");
                let at = words.first().map_or(0, |(at, _)| *at);
                return Err(TextError::new(i + 1, line, at, reason));
            }
            groups.push(group);
        }
    }
    if groups.is_empty() {
        return Err(TextError::new(1, "", 0, "a cluster needs workers, e.g. `4x cpus=32`"));
    }
    Ok(groups)
}

/// The groups of a line, as words and where each begins; none is empty.
fn statements(line: &str) -> Vec<Vec<(usize, &str)>> {
    let without_comment = split(0, line, |c| c == '#').first().map_or("", |(_, text)| *text);
    let statements = split(0, without_comment, |c| c == ';').into_iter();
    let words = statements.map(|(at, text)| {
        let words = split(at, text, char::is_whitespace).into_iter();
        words.filter(|(_, word)| !word.is_empty()).collect::<Vec<_>>()
    });
    words.filter(|words| !words.is_empty()).collect()
}

/// The pieces of a text that begins at `base`, apart at separators outside of brackets, parentheses and quotes.
fn split(base: usize, text: &str, is_separator: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let (mut pieces, mut start, mut depth, mut quoted) = (vec![], 0, 0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth = depth.saturating_sub(1),
            c if !quoted && depth == 0 && is_separator(c) => {
                pieces.push((base + start, &text[start..at]));
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push((base + start, &text[start..]));
    pieces
}

/// What is wrong, and at which byte of the line.
type Wrong = (usize, String);

fn read_group(words: &[(usize, &str)]) -> Result<WorkerGroup, Wrong> {
    let begin = words.first().map_or(0, |(at, _)| *at);
    let (count, words) = match words {
        [(at, first), rest @ ..] if !first.contains('=') => (read_count(*at, first)?, rest),
        words => (1, words),
    };
    let (mut resources, mut options): (Vec<ResourceDef>, Vec<(usize, &str, &str)>) = (vec![], vec![]);
    for (at, word) in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err((*at, format!("expected NAME=VALUE, e.g. `cpus=4`, and not `{word}`")));
        };
        if OPTIONS.contains(&name) {
            options.push((at + name.len() + 1, name, value));
            continue;
        }
        if name.contains('-') {
            let known = OPTIONS.join(", ");
            return Err((*at, format!("there is no option `{name}`; use a resource, or one of: {known}")));
        }
        resources.push(ResourceDef::parse(word).map_err(|error| (at + error.at, error.reason))?);
    }
    let resources = WorkerResources::new(resources, vec![]).map_err(|error| (begin, error.to_string()))?;
    let mut group = WorkerGroup { count, config: WorkerConfig::new("node", resources), arrives: Span::ZERO };
    for (at, name, value) in options {
        set_option(&mut group, name, value).map_err(|reason| (at, reason))?;
    }
    Ok(group)
}

fn read_count(at: usize, word: &str) -> Result<u32, Wrong> {
    let count = word.strip_suffix('x').and_then(|digits| digits.parse().ok()).filter(|count| *count > 0);
    count.ok_or_else(|| (at, format!("expected how many, e.g. `4x`, or a resource, e.g. `cpus=4`, and not `{word}`")))
}

const OPTIONS: [&str; 5] = ["group", "host", "arrives", "time-limit", "min-utilization"];

fn set_option(group: &mut WorkerGroup, name: &str, value: &str) -> Result<(), String> {
    let span = || Span::parse(value).map_err(|error| error.to_string());
    match name {
        "group" => group.config.group = unquoted(value),
        "host" => group.config.hostname = unquoted(value),
        "arrives" => group.arrives = span()?,
        "time-limit" => {
            let limit = span()?;
            if limit == Span::ZERO {
                return Err("it has to be longer than zero".to_owned());
            }
            group.config.time_limit = Some(limit);
        }
        _ => {
            let share: Option<Amount> = value.parse().ok().filter(|share| *share <= Amount::units(1));
            let share = share.ok_or("expected a share from 0 to 1, with at most four decimals")?;
            group.config.min_utilization = share.parts() as u32;
        }
    }
    Ok(())
}

fn unquoted(value: &str) -> String {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, cpus, all resources, group, limit, arrival.
    fn shown(text: &str) -> Vec<String> {
        let show = |group: WorkerGroup| {
            let config = &group.config;
            let resources: Vec<String> =
                config.resources.resources().iter().map(|def| format!("{}:{}", def.name, def.kind.total())).collect();
            let limit = config.time_limit.map_or("-".to_owned(), |limit| limit.to_string());
            format!(
                "{} {} {} {} {limit} {} {}",
                group.count,
                resources.join(","),
                config.hostname,
                config.group,
                group.arrives,
                config.min_utilization
            )
        };
        parse(text).unwrap().into_iter().map(show).collect()
    }

    #[test]
    fn descriptions() {
        for (text, expected) in [
            ("cpus=4", &["1 cpus:4 node default - 0s 0"][..]),
            ("32x cpus=4", &["32 cpus:4 node default - 0s 0"]),
            (
                "  2x   cpus=2x8\tgpus=[0, 1] ; cpus=1;",
                &["2 cpus:16,gpus:2 node default - 0s 0", "1 cpus:1 node default - 0s 0"],
            ),
            ("# all\n\n3x cpus=1 # few\n;;\n", &["3 cpus:1 node default - 0s 0"]),
            ("cpus=2 foo=[\"a; #b\",c]", &["1 cpus:2,foo:2 node default - 0s 0"]),
            (
                "2x cpus=8 mem=sum(0.5) group=g host=\"h\" time-limit=1h30m arrives=90 min-utilization=0.25",
                &["2 cpus:8,mem:0.5 h g 1h 30m 1m 30s 2500"],
            ),
            ("100000x cpus=1", &["100000 cpus:1 node default - 0s 0"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is() {
        for (text, line, column, part) in [
            ("", 1, 1, "needs workers"),
            ("# nothing\n ; ", 1, 1, "needs workers"),
            ("4 cpus=1", 1, 1, "expected how many"),
            ("0x cpus=1", 1, 1, "expected how many"),
            ("99999999999x cpus=1", 1, 1, "expected how many"),
            ("cpus=1\n  2x gpus=[0]", 2, 3, "needs the resource cpus"),
            ("cpus=1; cpus=x", 1, 14, "expected a number"),
            ("cpus=1 gpus=4", 1, 13, "plain number"),
            ("cpus=1 gpus", 1, 8, "expected NAME=VALUE"),
            ("cpus=1 gpus=[0", 1, 15, "expected `,` or `]`"),
            ("cpus=1 cpus=2", 1, 1, "defined twice"),
            ("é=1", 1, 1, "name"),
            ("cpus=1 host=é time-limit=0", 1, 26, "longer than zero"),
            ("cpus=1 time-limit=soon", 1, 19, "soon"),
            ("cpus=1 idle-timeout=5", 1, 8, "there is no option `idle-timeout`"),
            ("cpus=1 min-utilization=1.5", 1, 24, "share"),
            ("60000x cpus=1\n60000x cpus=1", 2, 1, "at most 100000"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
            assert!(error.reason.contains(part), "{text:?}: {error}");
        }
    }
}
