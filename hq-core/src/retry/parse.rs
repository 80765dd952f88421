use super::{Backoff, ExitCodes, RetryOn, RetryRule, RetryTimes};
use crate::Span;

/// A text that is not a rule: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (at position {at} of `{text}`)")]
pub struct RetryParseError {
    /// The whole text.
    pub text: String,
    /// The byte where it goes wrong; the length of the text where something is missing at its end.
    pub at: usize,
    /// What is wrong or expected there, in one line.
    pub reason: String,
}

type Bad = (usize, String);

const CAUSES: &str = "expected exit, signal, oom, time-limit, start, crash, preempted or any";

impl RetryRule {
    /// Reads `CAUSE[=CODES]:TIMES[:DELAY[..MAX]]`, e.g. `exit:3`, `exit=75,100-110:unlimited:10s..5m`, `oom=137:2`.
    /// A delay without a longest one grows to [five minutes](Backoff::default), or is as long as that if it is longer.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, RetryParseError> {
        read(text).map_err(|(at, reason)| RetryParseError { text: text.to_owned(), at, reason })
    }
}

fn read(text: &str) -> Result<RetryRule, Bad> {
    let (cause, rest) = text.split_once(':').ok_or_else(|| {
        let missing = "expected `:` and how often, e.g. `exit:3`".to_owned();
        on(text).err().unwrap_or((text.len(), missing))
    })?;
    let on = on(cause)?;
    let times_at = cause.len() + 1;
    let (times_text, delay) = match rest.split_once(':') {
        Some((times, delay)) => (times, Some((times_at + times.len() + 1, delay))),
        None => (rest, None),
    };
    let times = times(times_text).map_err(|reason| (times_at, reason.to_owned()))?;
    let backoff = delay.map_or(Ok(Backoff::default()), |(at, text)| backoff(at, text))?;
    Ok(RetryRule { on, times, backoff })
}

fn on(text: &str) -> Result<RetryOn, Bad> {
    let (name, codes) = match text.split_once('=') {
        Some((name, codes)) => (name, Some((name.len() + 1, codes))),
        None => (text, None),
    };
    let list = || codes.map_or(Ok(ExitCodes::default()), |(at, text)| exit_codes(at, text));
    let on = match name {
        "exit" => return list().map(RetryOn::Exit),
        "oom" => return list().map(RetryOn::OutOfMemory),
        "signal" => RetryOn::Signal,
        "time-limit" => RetryOn::TimeLimit,
        "start" => RetryOn::NoStart,
        "crash" => RetryOn::Crash,
        "preempted" => RetryOn::Preempted,
        "any" => RetryOn::Any,
        _ => return Err((0, CAUSES.to_owned())),
    };
    match codes {
        Some((at, _)) => Err((at - 1, "only `exit` and `oom` have exit codes".to_owned())),
        None => Ok(on),
    }
}

fn exit_codes(at: usize, text: &str) -> Result<ExitCodes, Bad> {
    let mut ranges = Vec::new();
    let mut at = at;
    for item in text.split(',') {
        let (low, high) = item.split_once('-').unwrap_or((item, item));
        let code = |text: &str| text.parse::<u8>().ok().filter(|code| *code > 0 && !text.starts_with('+'));
        let bad = |reason: &str| (at, reason.to_owned());
        let expected = "expected exit codes from 1 to 255, e.g. `1,75-78`";
        let range = code(low).zip(code(high)).ok_or_else(|| bad(expected))?;
        if range.0 > range.1 {
            return Err(bad("the range of exit codes ends before it begins"));
        }
        ranges.push(range);
        at += item.len() + 1;
    }
    if ranges.len() > ExitCodes::RANGES_MAX {
        return Err((at - 1, format!("more than {} exit codes and ranges", ExitCodes::RANGES_MAX)));
    }
    Ok(ExitCodes::from_ranges(ranges))
}

fn times(text: &str) -> Result<RetryTimes, &'static str> {
    match text {
        "unlimited" => Ok(RetryTimes::Unlimited),
        _ if text.starts_with('+') => Err("expected how often: a number up to 65535, or `unlimited`"),
        _ => {
            text.parse().map(RetryTimes::Limit).map_err(|_| "expected how often: a number up to 65535, or `unlimited`")
        }
    }
}

fn backoff(at: usize, text: &str) -> Result<Backoff, Bad> {
    let span = |at: usize, text: &str| Span::parse(text).map_err(|error| (at, error.to_string()));
    let Some((first, max)) = text.split_once("..") else {
        let first = span(at, text)?;
        return Ok(Backoff { first, max: first.max(Backoff::default().max) });
    };
    let backoff = Backoff { first: span(at, first)?, max: span(at + first.len() + 2, max)? };
    if backoff.max < backoff.first {
        return Err((at + first.len() + 2, "the longest delay is shorter than the first".to_owned()));
    }
    Ok(backoff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        // What is read is shown in one form, which is read as the same.
        for (text, shown) in [
            ("exit:3", "exit:3"),
            ("exit=75:0", "exit=75:0"),
            ("exit=3,1,2,9:1", "exit=1-3,9:1"),
            ("exit=1,75-78:unlimited:10s..5m", "exit=1,75-78:unlimited:10s..5m"),
            ("oom=137:2:1m", "oom=137:2:1m..5m"),
            ("any:65535:0s..0s", "any:65535:0s..0s"),
            ("any:1:1:30..2:00:00", "any:1:1m 30s..2h"),
            ("time-limit:1:10m", "time-limit:1:10m..10m"),
            ("signal:1", "signal:1"),
            ("start:unlimited", "start:unlimited"),
            ("crash:2:1s..5m", "crash:2"),
            ("preempted:7", "preempted:7"),
        ] {
            let rule = RetryRule::parse(text).unwrap();
            assert_eq!(rule.to_string(), shown, "{text}");
            assert_eq!(RetryRule::parse(shown), Ok(rule), "{text}");
        }
        for (text, at, reason) in [
            ("", 0, CAUSES),
            ("never:1", 0, CAUSES),
            ("Exit:1", 0, CAUSES),
            ("exit", 4, "expected `:` and how often, e.g. `exit:3`"),
            ("exit=:1", 5, "expected exit codes from 1 to 255, e.g. `1,75-78`"),
            ("exit=1,0:1", 7, "expected exit codes from 1 to 255, e.g. `1,75-78`"),
            ("exit=1,256", 7, "expected exit codes from 1 to 255, e.g. `1,75-78`"),
            ("exit=1,,2:1", 7, "expected exit codes from 1 to 255, e.g. `1,75-78`"),
            ("exit=9-2:1", 5, "the range of exit codes ends before it begins"),
            ("crash=1:1", 5, "only `exit` and `oom` have exit codes"),
            ("exit:", 5, "expected how often: a number up to 65535, or `unlimited`"),
            ("exit:-1", 5, "expected how often: a number up to 65535, or `unlimited`"),
            ("exit:65536", 5, "expected how often: a number up to 65535, or `unlimited`"),
            ("any:1:2m..1m", 10, "the longest delay is shorter than the first"),
        ] {
            let expected = RetryParseError { text: text.to_owned(), at, reason: reason.to_owned() };
            assert_eq!(RetryRule::parse(text), Err(expected), "{text}");
        }
        for (text, at) in [("any:1:", 6), ("any:1:1x", 6), ("any:1:1s..", 10), ("any:1:..1s", 6)] {
            assert_eq!(RetryRule::parse(text).unwrap_err().at, at, "{text}");
        }
    }
}
