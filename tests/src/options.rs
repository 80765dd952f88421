/// Size of a test, from the environment.
///
/// # Panics
/// If the variable holds anything but a number.
pub fn number_from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("the variable holds a number"))
}

/// Says that a test does not apply here.
#[expect(clippy::print_stderr, reason = "whoever runs the tests should see it")]
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
