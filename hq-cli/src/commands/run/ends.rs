use hq_core::WallTime;

/// A task that has ended for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Number of its arguments, from 1.
    pub(super) seq: u32,
    /// Where it ran.
    pub(super) host: String,
    pub(super) started: WallTime,
    pub(super) ended: WallTime,
    /// Bytes that it printed.
    pub(super) printed: u64,
    pub(super) exit: Exit,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(super) code: i32,
    pub(super) signal: i32,
}

impl Exit {
    /// As the text of a failure tells; 1 where it tells something else, e.g. of a time limit.
    pub(super) fn of_error(error: &str) -> Self {
        let number = |before: &str| {
            let rest = error.split_once(before)?.1;
            let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<i32>().ok()
        };
        match (number("Received signal "), number("terminated with exit code ")) {
            (Some(signal), _) => Self { code: 0, signal },
            (None, Some(code)) => Self { code, signal: 0 },
            (None, None) => Self { code: 1, signal: 0 },
        }
    }

    /// Whether it ended well.
    pub(super) const fn is_success(self) -> bool {
        self.code == 0 && self.signal == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures() {
        for (error, code, signal) in [
            ("Program terminated with exit code 3.", 3, 0),
            ("Program terminated with exit code -1. Received signal 9 (SIGKILL).", 0, 9),
            ("Time limit reached", 1, 0),
            ("", 1, 0),
        ] {
            assert_eq!(Exit::of_error(error), Exit { code, signal }, "{error}");
        }
    }
}
