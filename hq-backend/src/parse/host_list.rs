/// Hosts of a list at most.
pub const HOSTS_MAX: usize = 65_536;

/// The hosts of a Slurm list, in its order: `n1`, `n[01-03,7],m5`, `rack[1-2]node[0-9]`. Leading zeros are kept.
///
/// `(null)`, `None assigned` and an empty text are no hosts. What makes no sense, or more than [`HOSTS_MAX`], is none.
pub fn host_list(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if text.is_empty() || matches!(text, "(null)" | "None assigned" | "None" | "N/A") {
        return Some(vec![]);
    }
    let mut hosts = Vec::new();
    for part in split(text)? {
        expand(part, &mut hosts)?;
    }
    Some(hosts)
}

/// At the commas outside of brackets.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if is_inside => return None,
            '[' => is_inside = true,
            ']' if !is_inside => return None,
            ']' => is_inside = false,
            ',' if !is_inside => {
                parts.push(text.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    (!is_inside).then_some(parts)
}

/// All hosts of one part are appended: the product of its brackets, the last one fastest.
fn expand(part: &str, hosts: &mut Vec<String>) -> Option<()> {
    let mut prefixes = vec![String::new()];
    let mut rest = part;
    while let Some((plain, behind)) = rest.split_once('[') {
        let (ranges, behind) = behind.split_once(']')?;
        let numbers = numbers(ranges)?;
        if prefixes.len().checked_mul(numbers.len())? > HOSTS_MAX {
            return None;
        }
        let with = |prefix: &String| numbers.iter().map(|n| format!("{prefix}{plain}{n}")).collect::<Vec<_>>();
        prefixes = prefixes.iter().flat_map(with).collect();
        rest = behind;
    }
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    for prefix in prefixes {
        let host = prefix + rest;
        if host.is_empty() || !is_name(&host) || hosts.len() >= HOSTS_MAX {
            return None;
        }
        hosts.push(host);
    }
    Some(())
}

/// `01-03,7` as texts of the width of the first number of each range.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return None;
        }
        let (low, high): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if high < low || high - low >= HOSTS_MAX || all.len() > HOSTS_MAX {
            return None;
        }
        all.extend((low..=high).map(|n| format!("{n:0width$}", width = first.len())));
    }
    Some(all)
}
