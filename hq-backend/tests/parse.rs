//! What managers print, and words of scripts: the table in `testdata/parse.txt`, and any text at all.
//!
//! A row is a kind, the text in backticks, `=>` and what comes of it; `UPDATE=1` rewrites what is behind `=>`.

use std::fmt::Write as _;

use hq_backend::{
    ExtraArg, JobName, Word,
    parse::{TimeLimit, ctime, host_list, job_of, pbs_job_of, time_limit, timestamp},
    script::{clock, single_quote},
};
use hq_core::Span;
use proptest::prelude::*;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/parse.txt");

#[test]
fn table() {
    let text = std::fs::read_to_string(TABLE).unwrap();
    let (mut rewritten, mut wrong, mut rows) = (String::new(), vec![], 0);
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(rewritten, "{line}").unwrap();
            continue;
        }
        rows += 1;
        let (input, expected) = line.rsplit_once("` =>").unwrap();
        let (kind, input) = input.split_once(" `").unwrap();
        let found = read(kind, &input.replace("\\n", "\n"));
        if found != expected.trim() {
            wrong.push(format!("{line}\n    found: {found}"));
        }
        writeln!(rewritten, "{kind} `{input}` => {found}").unwrap();
    }
    assert!(rows > 80, "only {rows} rows");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(TABLE, rewritten).unwrap();
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn read(kind: &str, text: &str) -> String {
    let none = || "none".to_owned();
    match kind {
        "limit" => match time_limit(text) {
            TimeLimit::Limit(span) => format!("{} s", span.0 / 1_000_000),
            TimeLimit::Unknown => "unknown".to_owned(),
        },
        "stamp" => timestamp(text).map_or_else(none, |time| time.0.to_string()),
        "ctime" => ctime(text).map_or_else(none, |time| time.0.to_string()),
        "hosts" => match host_list(text) {
            Some(hosts) if hosts.len() > 8 => {
                format!("{} hosts, {} to {}", hosts.len(), hosts[0], hosts[hosts.len() - 1])
            }
            Some(hosts) => format!("[{}]", hosts.join(" ")),
            None => none(),
        },
        "slurm-id" => job_of(text).map_or_else(none, str::to_owned),
        "pbs-id" => pbs_job_of(text).unwrap_or_else(none),
        "name" => JobName::new(text).map_or_else(|e| format!("error: {e}"), |name| name.to_string()),
        "arg" => ExtraArg::new(text).map_or_else(|e| format!("error: {e}"), |arg| arg.to_string()),
        "word" => Word::from(text).to_string(),
        "quoted" => Word::quoted(text).to_string(),
        "single" => single_quote(text),
        "clock" => clock(Span::parse(text).unwrap()),
        _ => panic!("unknown kind {kind}"),
    }
}

/// What a shell makes of a line: its words, by `sh` itself.
fn shell_words(line: &str) -> Vec<Vec<u8>> {
    let script = format!("printf '%s\\0' {line}");
    let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    output.stdout.split(|b| *b == 0).map(<[u8]>::to_vec).filter(|word| !word.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All words of one line at once, so that one shell shows many cases.
    #[test]
    fn a_shell_reads_words_as_they_were(words in prop::collection::vec("[^\0]{1,12}|[\"'`$\\\\!*?~#&;|<>(){}\\[\\]\n\t =%^-]{1,8}", 1..16)) {
        let line = |quote: fn(&str) -> String| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        let expected: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
        for quote in [|word: &str| Word::from(word).to_string(), |word: &str| Word::quoted(word).to_string(), single_quote as fn(&str) -> String] {
            prop_assert_eq!(shell_words(&line(quote)), expected.clone(), "{}", line(quote));
        }
    }
}

proptest! {
    /// No text of a manager makes a reader panic, and what is read is bounded.
    #[test]
    fn any_text_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[0-9:.,\\-\\[\\]+_nDT a-z]{0,32}") {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), text] {
            for kind in ["limit", "stamp", "ctime", "hosts", "slurm-id", "pbs-id", "name", "arg", "word", "single"] {
                read(kind, &text);
            }
            prop_assert!(host_list(&text).is_none_or(|hosts| hosts.len() <= hq_backend::parse::HOSTS_MAX));
        }
    }

    /// A length of time that we write is read as the same.
    #[test]
    fn clocks_are_read_back(seconds in 0..10_000_000_u64) {
        let span = Span::secs(seconds);
        prop_assert_eq!(time_limit(&clock(span)), TimeLimit::Limit(span));
    }

    /// A list that is written out is read as the same hosts.
    #[test]
    fn host_ranges_are_read_back(first in 0..900_usize, count in 1..40_usize, width in 1..5_usize) {
        let all: Vec<String> = (first..first + count).map(|n| format!("n{n:0width$}")).collect();
        let last = first + count - 1;
        let list = format!("n[{first:0width$}-{last:0width$}]");
        prop_assert_eq!(host_list(&list), Some(all));
    }
}
