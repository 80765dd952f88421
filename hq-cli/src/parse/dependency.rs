use std::sync::Arc;

use hq_core::{DepKind, IdList, JobDep, JobId};

use super::caret::with_caret;

/// Reads `afterok:ID[,ID…]`, `afterany:…` and `afternotok:…`, joined by commas. Ids may be ranges, and may be joined by
/// colons.
///
/// # Errors
/// Says what is wrong, with a caret.
pub(crate) fn dependency(text: &str) -> Result<Arc<[JobDep]>, String> {
    let mut deps: Vec<JobDep> = Vec::new();
    let mut kind = None;
    let mut at = 0;
    for item in text.split(',') {
        let mut ids = item;
        let mut ids_at = at;
        if let Some((word, rest)) = item.split_once(':').filter(|(word, _)| !word.trim().starts_with(is_digit)) {
            kind = Some(match word.trim() {
                "afterok" => DepKind::Success,
                "afterany" => DepKind::AnyEnd,
                "afternotok" => DepKind::Failure,
                _ => return Err(with_caret(text, at, "expected afterok:, afterany: or afternotok:")),
            });
            ids = rest;
            ids_at += word.len() + 1;
        }
        let Some(kind) = kind else {
            return Err(with_caret(text, at, "expected afterok:, afterany: or afternotok: before the first id"));
        };
        for part in ids.split(':') {
            let list = IdList::parse(part).map_err(|_| with_caret(text, ids_at, "expected the id of a job"))?;
            if deps.len() as u64 + list.len() > JobDep::COUNT_MAX as u64 {
                return Err(with_caret(text, ids_at, "at most 1024 jobs can be waited for"));
            }
            deps.extend(list.iter().map(|job| JobDep { job: JobId(job), kind }));
            ids_at += part.len() + 1;
        }
        at += item.len() + 1;
    }
    Ok(deps.into())
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    /// Rows `dependency`.
    #[test]
    fn vectors() {
        table::check("dependency.txt", |_, text| match dependency(text) {
            Ok(deps) => deps.iter().map(|dep| format!("{:?}@{} ", dep.kind, dep.job)).collect::<String>(),
            Err(error) => format!("error {}", error.replace('\n', "\\n")),
        });
    }
}
