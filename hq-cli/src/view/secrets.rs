use std::sync::Arc;

use hq_core::{JobDetail, PROGRAM_KIND, Parts, ProgramBody, ProgramSpec, Submit};

/// What stands in place of a secret.
const HIDDEN: &str = "<hidden>";
/// A name with one of these words in it is that of a secret.
const WORDS: [&str; 4] = ["TOKEN", "SECRET", "KEY", "PASS"];

/// `NAME=VALUE` (also with dashes before it) without the value, where the name says that it is secret; other text as it is.
pub(crate) fn redacted(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        _ => text.to_owned(),
    }
}

/// Words of a command line without its secrets: neither `--token=X` nor `--token X`.
pub(crate) fn redacted_words(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut hide = false;
    words
        .into_iter()
        .map(|word| {
            let is_option = word.starts_with('-');
            if std::mem::take(&mut hide) && !is_option {
                return HIDDEN.to_owned();
            }
            hide = is_option && !word.contains('=') && is_secret(&word);
            redacted(&word)
        })
        .collect()
}

/// A job without the values of variables whose names say that they are secret.
pub(crate) fn without_secrets(mut detail: JobDetail) -> JobDetail {
    for info in &mut detail.submits {
        if let Some(submit) = hidden(&info.submit) {
            info.submit = Arc::new(submit);
        }
    }
    detail
}

/// None where nothing is secret.
fn hidden(submit: &Submit) -> Option<Submit> {
    if submit.kind != PROGRAM_KIND {
        return None;
    }
    let mut body: ProgramBody = postcard::from_bytes(&submit.shared).ok()?;
    let parts = match &mut body {
        ProgramBody::Same(spec) => hide(spec).then(|| submit.parts.clone()),
        ProgramBody::Template(template) => hide(&mut template.spec).then(|| submit.parts.clone()),
        ProgramBody::PerTask => parts_without(&submit.parts),
    }?;
    Some(Submit { shared: postcard::to_stdvec(&body).ok()?.into(), parts, ..submit.clone() })
}

fn parts_without(parts: &Parts) -> Option<Parts> {
    let mut is_changed = false;
    let hidden: Vec<Vec<u8>> = (0..parts.len())
        .map(|i| {
            let part = parts.get(i);
            let spec = postcard::from_bytes::<ProgramSpec>(part).ok();
            let spec = spec.and_then(|mut spec| hide(&mut spec).then_some(spec));
            let bytes = spec.and_then(|spec| postcard::to_stdvec(&spec).ok());
            is_changed |= bytes.is_some();
            bytes.unwrap_or_else(|| part.to_vec())
        })
        .collect();
    if is_changed { Parts::new(hidden) } else { None }
}

/// Whether there was something to hide.
fn hide(spec: &mut ProgramSpec) -> bool {
    let secret = spec.env.iter_mut().filter(|(name, _)| is_secret(&String::from_utf8_lossy(name)));
    secret.map(|(_, value)| *value = HIDDEN.as_bytes().into()).count() > 0
}

/// A whole script is no name.
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !name.contains(char::is_whitespace) && WORDS.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_hidden() {
        for (text, expected) in [
            ("API_TOKEN=abc", "API_TOKEN=<hidden>"),
            ("aws_secret_access_key=a=b", "aws_secret_access_key=<hidden>"),
            ("--password=x", "--password=<hidden>"),
            ("PATH=/bin", "PATH=/bin"),
            ("TOKEN", "TOKEN"),
            ("echo key; x=1", "echo key; x=1"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn so_are_words_behind_options() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (text, expected) in [
            ("curl --token abc -v", "curl --token <hidden> -v"),
            ("x --key --verbose y", "x --key --verbose y"),
            ("x --pass=a b", "x --pass=<hidden> b"),
            ("passwd bob", "passwd bob"),
        ] {
            assert_eq!(redacted_words(words(text)).join(" "), expected);
        }
    }
}
