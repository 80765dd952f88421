/// What stands in place of a secret.
const HIDDEN: &str = "<hidden>";
/// A name with one of these words in it is that of a secret.
const WORDS: [&str; 4] = ["TOKEN", "SECRET", "KEY", "PASS"];

/// `NAME=VALUE` (also with dashes before it) without the value, where the name says that it is secret; other text as it is.
pub(super) fn redacted(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
        _ => text.to_owned(),
    }
}

/// Words of a command line without its secrets: neither `--token=X` nor `--token X`.
pub(super) fn redacted_words(words: impl IntoIterator<Item = String>) -> Vec<String> {
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
