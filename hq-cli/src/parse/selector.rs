use hq_core::Selector;

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

#[cfg(test)]
mod tests {
    use hq_core::IdList;

    use super::*;

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
