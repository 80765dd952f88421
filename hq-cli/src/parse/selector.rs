use hq_core::{IdList, Selector};

use super::values::ids;

/// Reads `last`, `all` or a list of ids.
///
/// # Errors
/// For anything else.
pub(crate) fn jobs(text: &str) -> Result<Selector, String> {
    match text {
        "all" => Ok(Selector::All),
        _ => jobs_without_all(text),
    }
}

/// Reads `last` or a list of ids.
///
/// # Errors
/// For anything else.
pub(crate) fn jobs_without_all(text: &str) -> Result<Selector, String> {
    match text {
        "last" => Ok(Selector::Last),
        _ => ids(text).map(Selector::Ids),
    }
}

/// Reads `last` or one id.
///
/// # Errors
/// For anything else.
pub(crate) fn job(text: &str) -> Result<Selector, String> {
    match text {
        "last" => Ok(Selector::Last),
        _ => text
            .replace('_', "")
            .parse()
            .map(|id| Selector::Ids(IdList::range(id, 1)))
            .map_err(|_| "expected `last` or the id of a job".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job() {
        for (text, expected) in [
            ("last", Some(Selector::Last)),
            ("7", Some(Selector::Ids(IdList::range(7, 1)))),
            ("1_0", Some(Selector::Ids(IdList::range(10, 1)))),
            ("1-2", None),
            ("all", None),
            ("-1", None),
            ("4294967296", None),
            ("", None),
        ] {
            assert_eq!(job(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn vectors() {
        let range = Selector::Ids(IdList::range(1, 3));
        for (text, all, without) in [
            ("last", Some(Selector::Last), Some(Selector::Last)),
            ("all", Some(Selector::All), None),
            ("1-3", Some(range.clone()), Some(range)),
            ("", None, None),
            ("latest", None, None),
            ("-1", None, None),
        ] {
            assert_eq!(jobs(text).ok(), all, "{text}");
            assert_eq!(jobs_without_all(text).ok(), without, "{text}");
        }
    }
}
