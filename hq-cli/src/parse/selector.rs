use std::collections::BTreeSet;

use anyhow::bail;
use hq_core::{IdList, Selector, idlist::Run};

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

/// So many jobs can be named in one of several words.
const IDS_MAX: u64 = 1_000_000;

/// Selectors given one by one as one.
///
/// # Errors
/// Where `last` or `all` stands beside others.
pub(crate) fn one_of(selectors: Vec<Selector>) -> anyhow::Result<Selector> {
    if let [one] = &selectors[..] {
        return Ok(one.clone());
    }
    let mut numbers = BTreeSet::new();
    for selector in selectors {
        match selector {
            Selector::Ids(ids) if ids.len() <= IDS_MAX => numbers.extend(ids.iter()),
            Selector::Ids(ids) => bail!("`{ids}` are too many jobs to be given together with others"),
            word => bail!("`{word}` cannot be given together with other jobs"),
        }
    }
    let runs = numbers.into_iter().map(|id| Run { start: id, count: 1, step: 1 });
    Ok(Selector::Ids(IdList::from(runs.collect::<Vec<_>>())))
}

/// What `hq submit` prints before the id.
const SUBMITTED: &str = "Job submitted successfully, job ID:";

/// Reads `last`, one id, or the sentence of a submit: whoever keeps what it printed need not take it apart.
///
/// # Errors
/// For anything else.
pub(crate) fn submitted_job(text: &str) -> Result<Selector, String> {
    let text = text.trim();
    job(text.strip_prefix(SUBMITTED).map_or(text, str::trim_start))
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
    fn the_sentence_of_a_submit_names_its_job() {
        for (text, expected) in [
            ("Job submitted successfully, job ID: 17\n", Ok("17")),
            ("17", Ok("17")),
            ("last", Ok("last")),
            ("Job submitted successfully, job ID: x", Err(())),
            ("Job 17", Err(())),
        ] {
            let read = submitted_job(text).map(|selector| selector.to_string()).map_err(|_| ());
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn several_words() {
        let joined = |texts: &[&str]| {
            let selectors = texts.iter().map(|text| jobs(text).expect("reads")).collect();
            one_of(selectors).map(|jobs| jobs.to_string()).ok()
        };
        for (texts, expected) in [
            (&["last"][..], Some("last")),
            (&["3-5,1"], Some("3-5,1")),
            (&["3", "1", "3", "2-4"], Some("1,2,3,4")),
            (&["1", "all"], None),
            (&["1", "0-4294967294"], None),
            (&["last", "1"], None),
        ] {
            assert_eq!(joined(texts).as_deref(), expected, "{texts:?}");
        }
    }

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
