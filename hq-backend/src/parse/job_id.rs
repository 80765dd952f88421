/// The job that a Slurm id belongs to: `123` of `123`, `123_7`, `123_[1-5%2]`, `123+0` and `123.batch`.
pub fn job_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (job, rest) = text.split_at(digits);
    let is_whole = rest.is_empty() || rest.starts_with(['_', '+', '.']);
    (is_whole && (1..=10).contains(&digits)).then_some(job)
}

/// The job that a PBS id belongs to: `123.server` of itself, `123[].server` of `123[7].server`.
pub fn pbs_job_of(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (job, rest) = text.split_at(digits);
    if !(1..=12).contains(&digits) || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => Some(format!("{job}[]{rest}")),
        None => (rest.is_empty() || rest.starts_with('.')).then(|| text.to_owned()),
    }
}
