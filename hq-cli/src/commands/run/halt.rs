/// When no more is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halt {
    pub(super) how: How,
    pub(super) on: On,
    pub(super) count: Count,
}

/// What becomes of tasks that run then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// They are stopped.
    Now,
    /// They go on to their ends.
    Soon,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Fail,
    Success,
    Done,
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Tasks(u32),
    Percent(u32),
}

/// Reads `never`, `now,fail=1`, `soon,fail=1`, `now,success=N`, `now,done=N%`.
///
/// # Errors
/// For anything else.
pub(super) fn halt(text: &str) -> Result<Halt, String> {
    if text == "never" {
        // More than a job can have.
        return Ok(Halt { how: How::Now, on: On::Done, count: Count::Tasks(u32::MAX) });
    }
    let (when, rest) = text.split_once(',').ok_or("expected `never`, or e.g. now,fail=1")?;
    let how = match when {
        "now" => How::Now,
        "soon" => How::Soon,
        _ => return Err("expected `now,` or `soon,` before what is counted".to_owned()),
    };
    let (on, count) = rest.split_once('=').ok_or("expected fail=N, success=N or done=N")?;
    let on = match on {
        "fail" => On::Fail,
        "success" => On::Success,
        "done" => On::Done,
        _ => return Err("expected fail=N, success=N or done=N".to_owned()),
    };
    let count = match count.strip_suffix('%').map(str::parse) {
        Some(Ok(percent @ 1..=100)) => Count::Percent(percent),
        None => match count.parse() {
            Ok(count @ 1..) => Count::Tasks(count),
            _ => return Err("expected a number from 1, or a percentage".to_owned()),
        },
        _ => return Err("expected a percentage from 1% to 100%".to_owned()),
    };
    Ok(Halt { how, on, count })
}

impl Halt {
    /// How many of `total` tasks have to come to that.
    pub(super) fn threshold(self, total: u64) -> u64 {
        match self.count {
            Count::Tasks(count) => count.into(),
            Count::Percent(percent) => (total * u64::from(percent)).div_ceil(100).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    /// Rows `halt`: of 30 tasks.
    #[test]
    fn vectors() {
        table::check("run_halt.txt", |_, text| match halt(text) {
            Ok(halt) => format!("{:?} {:?} {}", halt.how, halt.on, halt.threshold(30)),
            Err(error) => format!("error {error}"),
        });
    }
}
