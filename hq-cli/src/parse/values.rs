//! Readers of option values: each returns what is wrong as text for clap.

use hq_core::{Amount, IdList, Owner, Quantity, Request, ResourceDef, ResourceEntry, RetryRule, Span};

use super::caret::{ids_error, resource_error, with_caret};

/// A length of time.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).map_err(|error| error.to_string())
}

/// A length of time above zero.
pub(crate) fn positive_span(text: &str) -> Result<Span, String> {
    match span(text)? {
        Span::ZERO => Err("it has to be longer than zero".to_owned()),
        span => Ok(span),
    }
}

/// A length of time with units.
pub(crate) fn human_span(text: &str) -> Result<Span, String> {
    Span::parse_human_only(text).map_err(|error| error.to_string())
}

/// Ids, e.g. `1-10,20`.
pub(crate) fn ids(text: &str) -> Result<IdList, String> {
    IdList::parse(text).map_err(|error| ids_error(text, &error))
}

/// How much of a resource is wanted, e.g. `2 compact`.
pub(crate) fn quantity(text: &str) -> Result<Quantity, String> {
    Quantity::parse(text).map_err(|error| resource_error(&error))
}

/// How much of which resource is wanted, e.g. `gpus=0.5`.
pub(crate) fn resource_entry(text: &str) -> Result<ResourceEntry, String> {
    ResourceEntry::parse(text).map_err(|error| resource_error(&error))
}

/// When tasks are run again, e.g. `exit=75:3:10s..5m`.
pub(crate) fn retry_rule(text: &str) -> Result<RetryRule, String> {
    RetryRule::parse(text).map_err(|error| with_caret(&error.text, error.at, &error.reason))
}

/// What a worker has of a resource, e.g. `gpus=[0,1]`.
pub(crate) fn resource_definition(text: &str) -> Result<ResourceDef, String> {
    ResourceDef::parse(text).map_err(|error| resource_error(&error))
}

/// The cpus of a worker, e.g. `2x8`.
pub(crate) fn cpus_definition(text: &str) -> Result<ResourceDef, String> {
    ResourceDef::parse_cpus(text).map_err(|error| resource_error(&error))
}

/// The name of a job.
pub(crate) fn job_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("a name must not be empty".to_owned());
    }
    if text.contains(['\n', '\t']) {
        return Err("a name must not contain a newline or a tab".to_owned());
    }
    Ok(text.to_owned())
}

/// The name of a user or a project.
pub(crate) fn party(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > Owner::NAME_MAX || text.contains(char::is_control) {
        return Err(format!("expected a name of at most {} bytes without control characters", Owner::NAME_MAX));
    }
    Ok(text.to_owned())
}

/// Why a job is cancelled: at most 200 bytes.
pub(crate) fn reason(text: &str) -> Result<String, String> {
    if text.len() > 200 {
        return Err(format!("a reason can have at most 200 bytes, this one has {}", text.len()));
    }
    Ok(text.to_owned())
}

/// A positive number, as a count of 1/10,000, rounded.
pub(crate) fn weight(text: &str) -> Result<u32, String> {
    let number = text.parse().unwrap_or(f64::NAN);
    Request::weight_of(number).map_err(|error| error.to_string())
}

/// A share between 0 and 1, in 1/10,000, rounded.
pub(crate) fn min_utilization(text: &str) -> Result<u32, String> {
    let share: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    match Amount::from_f64(share) {
        Ok(amount) if share <= 1.0 => Ok(amount.parts() as u32),
        _ => Err("Minimal utilization has to be in the interval [0.0, 1.0].".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights() {
        for (text, expected) in [
            ("1", Some(10_000)),
            ("2.5", Some(25_000)),
            ("0.5", Some(5_000)),
            ("0.00006", Some(1)),
            ("400000", Some(4_000_000_000)),
            ("0", None),
            ("0.00001", None),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e309", None),
            ("400001", None),
            ("x", None),
        ] {
            assert_eq!(weight(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn positive_spans() {
        assert_eq!(positive_span("1ms"), Ok(Span::millis(1)));
        for text in ["0", "0s", "00:00", ""] {
            assert!(positive_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares() {
        for (text, expected) in [
            ("0", Some(0)),
            ("0.5", Some(5_000)),
            ("0.07", Some(700)),
            ("1.0", Some(10_000)),
            ("1.1", None),
            ("-0.1", None),
            ("NaN", None),
        ] {
            assert_eq!(min_utilization(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn names_and_reasons() {
        assert!(job_name("a b").is_ok() && job_name("").is_err());
        assert!(job_name("a\nb").is_err() && job_name("a\tb").is_err());
        assert!(reason(&"x".repeat(200)).is_ok());
        assert!(reason(&"x".repeat(201)).is_err());
    }

    #[test]
    fn errors_show_where() {
        assert!(ids("1-x").expect_err("refused").contains("\n  1-x\n    ^"));
        assert!(
            ids("1,5-1")
                .expect_err("refused")
                .contains("Invalid range: the end of 5-1 is before its start\n  1,5-1\n    ^")
        );
        assert!(ids("1-5,3").expect_err("refused").contains("Ranges overlap\n  1-5,3\n      ^"));
        for (text, caret) in [("0-4294967295", "^"), ("4294967296", "^"), ("0-99999999999", "  ^")] {
            let error = ids(text).expect_err("refused");
            assert!(error.starts_with("too large at position "), "{error}");
            assert!(error.ends_with(&format!("\n  {text}\n  {caret}")), "{error}");
        }
        assert!(quantity("2 foo").expect_err("refused").contains("\n  2 foo\n    ^"));
        assert!(quantity("0").expect_err("refused").contains("Zero resources cannot be requested"));
    }
}
