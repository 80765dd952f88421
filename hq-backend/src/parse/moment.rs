use crate::UnixTime;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads `2026-11-30T06:57:07`, as Slurm prints it when it is asked for UTC. `Unknown`, `N/A` and what makes no sense
/// are none.
pub fn timestamp(text: &str) -> Option<UnixTime> {
    let (date, clock) = text.trim().split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    moment(year, month, day, clock)
}

/// Reads `Mon Nov 30 06:40:11 2026`, as PBS prints it when it is asked for UTC.
pub fn ctime(text: &str) -> Option<UnixTime> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, clock, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    moment(number(year)?, month as i64, number(day)?, clock)
}

fn moment(year: i64, month: i64, day: i64, clock: &str) -> Option<UnixTime> {
    let [h, m, s] = numbers(clock, ':')?;
    let is_time = (0..24).contains(&h) && (0..60).contains(&m) && (0..=60).contains(&s);
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    (is_time && is_date).then(|| UnixTime(days(year, month, day) * 86_400 + h * 3600 + m * 60 + s))
}

/// Days since 1970-01-01 of the Gregorian calendar, with years that begin in March.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let parts: Vec<i64> = text.split(separator).map(number).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
