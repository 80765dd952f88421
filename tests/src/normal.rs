/// An output with what differs from run to run replaced: moments, lengths of time, and the texts given. Tables lose their
/// widths, which follow from these.
pub fn normal(text: &str, names: &[(String, &str)]) -> String {
    let mut text = text.to_owned();
    for (found, name) in names {
        text = text.replace(found.as_str(), name);
    }
    text.lines().map(|line| line_of(&timeless(line)) + "\n").collect()
}

/// Cells without their blanks, dividers without their length.
fn line_of(line: &str) -> String {
    if line.starts_with("+-") {
        return "+-".to_owned();
    }
    match line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) {
        Some(cells) => cells.split('|').map(str::trim).collect::<Vec<_>>().join(" | "),
        None => line.to_owned(),
    }
}

/// Moments as `TIME`, lengths of time as `SPAN`.
fn timeless(line: &str) -> String {
    const MOMENTS: [&str; 3] = ["dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd", "dd.dd.dddd dd:dd:dd"];
    let mut left = line;
    let mut out = String::new();
    while let Some(c) = left.chars().next() {
        if let Some(len) = MOMENTS.iter().find_map(|moment| starts_with(left, moment)) {
            let rest = &left[len..];
            let rest =
                rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
            left = rest.strip_prefix('Z').or_else(|| rest.strip_prefix(" UTC")).unwrap_or(rest);
            out += "TIME";
        } else if let Some(rest) = span(left).filter(|_| !out.ends_with(|c: char| c.is_alphanumeric())) {
            left = rest;
            if !out.ends_with("SPAN ") {
                out += "SPAN";
            } else {
                out.pop();
            }
        } else {
            out.push(c);
            left = &left[c.len_utf8()..];
        }
    }
    out
}

/// What follows `503ms`, `1s`.
fn span(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == text.len() {
        return None;
    }
    let rest = rest.strip_prefix("ms").or_else(|| rest.strip_prefix('s'))?;
    (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some(rest)
}

/// The length of `pattern`, if the text begins like it; `d` is any digit.
fn starts_with(text: &str, pattern: &str) -> Option<usize> {
    let fits = |(found, wanted): (u8, u8)| found == wanted || (wanted == b'd' && found.is_ascii_digit());
    let head = text.as_bytes().get(..pattern.len())?;
    head.iter().copied().zip(pattern.bytes()).all(fits).then_some(pattern.len())
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn what_differs_is_replaced() {
        let names = [("/tmp/x".to_owned(), "DIR")];
        for (text, expected) in [
            ("+----+---+\n|  1 | /tmp/x/a  |", "+-\n1 | DIR/a\n"),
            (
                "\"2026-01-31T07:32:45.042Z\" at 2026-01-31 07:32:45 UTC, 31.01.2026 07:32:45",
                "\"TIME\" at TIME, TIME\n",
            ),
            ("took 1s 503ms, 8s", "took SPAN, SPAN\n"),
            ("100 jobs, 3 shells, job-1s", "100 jobs, 3 shells, job-SPAN\n"),
        ] {
            assert_eq!(normal(text, &names), expected);
        }
    }
}
