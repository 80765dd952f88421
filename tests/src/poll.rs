use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// How long a test waits for what has to happen. Generous: machines that run tests may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until what it sees is right, and returns that.
///
/// # Panics
/// If that takes more than [`PATIENCE`]; says what was seen last.
#[track_caller]
pub fn eventually<T: Debug>(what: &str, look: impl FnMut() -> T, right: impl Fn(&T) -> bool) -> T {
    eventually_within(PATIENCE, what, look, right)
}

/// As [`eventually`], with a bound of its own.
///
/// # Panics
/// If the time is over.
#[track_caller]
pub fn eventually_within<T: Debug>(
    bound: Duration,
    what: &str,
    mut look: impl FnMut() -> T,
    right: impl Fn(&T) -> bool,
) -> T {
    let start = Instant::now();
    loop {
        let seen = look();
        if right(&seen) {
            return seen;
        }
        assert!(start.elapsed() < bound, "not within {bound:?}: {what}; last seen: {seen:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
