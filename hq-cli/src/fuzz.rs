//! What reads words and files of users, by name, for the fuzz targets of this repository. No part of any interface.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use hq_core::{Blob, JobId};

use crate::{args, commands, jobfile, parse, worker};

/// A reader and its name. It panics where a promise of it is broken.
pub type Reader = (&'static str, fn(&[u8]));

/// All of them.
pub const READERS: &[Reader] = &[
    ("command-line", command_line),
    ("job-file", job_file),
    ("selector", |bytes| {
        text(bytes, |text| {
            for read in [parse::jobs, parse::jobs_without_all, parse::submitted_job, parse::job] {
                if let Ok(selector) = read(text) {
                    assert_eq!(parse::jobs(&selector.to_string()), Ok(selector), "read from {text:?}");
                }
            }
        });
    }),
    ("sweep", |bytes| {
        text(bytes, |text| {
            // A file is not read, and what is many values by design is not made.
            if let Ok(sweep) = parse::sweep(text)
                && sweep.count().is_some_and(|count| count <= 10_000)
            {
                let values = sweep.values().expect("they are few");
                assert_eq!(Some(values.len() as u64), sweep.count(), "read from {text:?}");
            }
        });
    }),
    ("directives", |bytes| drop(parse::Directives::parse(bytes))),
    ("environment", |bytes| {
        if let Ok(variable) = parse::EnvVar::parse(bytes) {
            assert!(!variable.name.is_empty() && !variable.name.contains(&b'='));
        }
    }),
    ("output-path", |bytes| drop(parse::StdioArg::parse(bytes))),
    ("dependency", |bytes| text(bytes, |text| drop(parse::dependency(text)))),
    ("coupling", |bytes| {
        text(bytes, |text| {
            if let Ok(read) = parse::coupling(text) {
                assert_eq!(parse::coupling(&read).as_ref(), Ok(&read), "read from {text:?}");
            }
        });
    }),
    ("crash-limit", |bytes| {
        text(bytes, |text| {
            if let Ok(limit) = parse::crash_limit(text) {
                assert_eq!(parse::crash_limit(&limit.to_string()), Ok(limit));
            }
        });
    }),
    ("names", |bytes| {
        text(bytes, |text| {
            for read in [parse::job_name, parse::party, parse::reason] {
                if let Ok(name) = read(text) {
                    assert_eq!(read(&name).as_ref(), Ok(&name), "read from {text:?}");
                }
            }
        });
    }),
    ("numbers", |bytes| {
        text(bytes, |text| {
            let _ = (parse::weight(text), parse::min_utilization(text));
            let _ = (parse::span(text), parse::positive_span(text), parse::human_span(text));
        });
    }),
    ("captioned-errors", |bytes| {
        text(bytes, |text| {
            let errors = [
                parse::ids(text).err(),
                parse::quantity(text).err(),
                parse::resource_entry(text).err(),
                parse::retry_rule(text).err(),
                parse::resource_definition(text).err(),
                parse::cpus_definition(text).err(),
            ];
            assert!(errors.iter().flatten().all(|error| !error.is_empty()));
        });
    }),
    ("detect-list", |bytes| text(bytes, |text| drop(text.parse::<worker::DetectList>()))),
    ("job-log", |bytes| text(bytes, |text| _ = commands::joblog_line(text))),
    ("host-file", |bytes| text(bytes, |text| drop(commands::host_file(text)))),
];

fn text(bytes: &[u8], read: impl FnOnce(&str)) {
    if let Ok(text) = str::from_utf8(bytes) {
        read(text);
    }
}

/// Words are parted by line breaks.
fn command_line(bytes: &[u8]) {
    let words = bytes.split(|byte| *byte == b'\n').map(|word| OsString::from_vec(word.to_vec()));
    if let Err(error) = args::parse([OsString::from("hq")].into_iter().chain(words)) {
        assert!(!error.to_string().is_empty());
    }
}

fn job_file(bytes: &[u8]) {
    text(bytes, |text| {
        for job in [None, Some(JobId(1))] {
            match jobfile::parse(text, job, &Blob::from(&b"/here"[..])) {
                Ok(file) => drop(file.submit.check()),
                Err(error) => assert!(!error.to_string().is_empty() && error.excerpt().len() == 2),
            }
        }
    });
}
