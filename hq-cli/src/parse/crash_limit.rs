use hq_core::CrashLimit;

/// Reads `never-restart`, `unlimited` or 1 to 65535.
///
/// # Errors
/// For anything else.
pub(crate) fn crash_limit(text: &str) -> Result<CrashLimit, String> {
    match text {
        "never-restart" => Ok(CrashLimit::NeverRestart),
        "unlimited" => Ok(CrashLimit::Unlimited),
        _ => match text.parse() {
            Ok(n @ 1..) => Ok(CrashLimit::Limit(n)),
            _ => Err("expected never-restart, unlimited or a number from 1 to 65535".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        for (text, expected) in [
            ("never-restart", Some(CrashLimit::NeverRestart)),
            ("unlimited", Some(CrashLimit::Unlimited)),
            ("1", Some(CrashLimit::Limit(1))),
            ("65535", Some(CrashLimit::Limit(65535))),
            ("0", None),
            ("65536", None),
            ("-1", None),
            ("", None),
            ("never", None),
        ] {
            assert_eq!(crash_limit(text).ok(), expected, "{text}");
        }
    }
}
