//! `%{NAME}` in paths.

use crate::{Instance, JobId, TaskNumber};

/// What placeholders stand for, as far as it is known; what is not stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Placeholders<'a> {
    /// `JOB_ID`
    pub job: Option<JobId>,
    /// `TASK_ID`
    pub task: Option<TaskNumber>,
    /// `INSTANCE_ID`
    pub instance: Option<Instance>,
    /// `SUBMIT_DIR`
    pub submit_dir: Option<&'a [u8]>,
    /// `CWD`
    pub cwd: Option<&'a [u8]>,
    /// `SERVER_UID`
    pub server_uid: Option<&'a str>,
}

/// All names, in the order of the documentation.
pub const NAMES: [&str; 6] = ["JOB_ID", "TASK_ID", "INSTANCE_ID", "SUBMIT_DIR", "CWD", "SERVER_UID"];

impl Placeholders<'_> {
    /// `template` with what is known filled in, in one pass: what is filled in is not looked at again.
    pub fn fill(&self, template: &[u8]) -> Vec<u8> {
        fill_with(template, |name| self.value(name))
    }

    fn value(&self, name: &[u8]) -> Option<Vec<u8>> {
        match name {
            b"JOB_ID" => self.job.map(|id| id.to_string().into_bytes()),
            b"TASK_ID" => self.task.map(|id| id.to_string().into_bytes()),
            b"INSTANCE_ID" => self.instance.map(|id| id.to_string().into_bytes()),
            b"SUBMIT_DIR" => self.submit_dir.map(<[u8]>::to_vec),
            b"CWD" => self.cwd.map(<[u8]>::to_vec),
            b"SERVER_UID" => self.server_uid.map(|uid| uid.as_bytes().to_vec()),
            _ => None,
        }
    }
}

/// `template` with what has a value filled in, in one pass: what is filled in is not looked at again.
pub fn fill_with(template: &[u8], value: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, after)) = split(rest) {
        out.extend_from_slice(before);
        match value(name) {
            Some(value) => out.extend_from_slice(&value),
            None => out.extend_from_slice(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

/// Names of the placeholders in `template`, in order, known or not.
pub fn names(template: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((_, name, after)) = split(rest) {
        found.push(String::from_utf8_lossy(name).into_owned());
        rest = after;
    }
    found
}

/// Text before the first placeholder, its name, text after it.
pub(crate) fn split(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let start = text.windows(2).position(|pair| pair == b"%{")?;
    let end = start + text[start..].iter().position(|b| *b == b'}')?;
    Some((&text[..start], &text[start + 2..end], &text[end + 1..]))
}

/// Working directory of a program: filled in, made absolute by the submit directory.
pub fn working_dir(template: &[u8], known: &Placeholders<'_>) -> Vec<u8> {
    let filled = Placeholders { cwd: None, ..*known }.fill(template);
    join(known.submit_dir.unwrap_or_default(), filled)
}

/// Path of an output: filled in, made absolute by the working directory.
pub fn output_path(template: &[u8], cwd: &[u8], known: &Placeholders<'_>) -> Vec<u8> {
    let filled = Placeholders { cwd: Some(cwd), ..*known }.fill(template);
    join(cwd, filled)
}

/// Stream directory of a program: filled in as far as it is the same for the whole job, made absolute by the submit
/// directory.
pub fn stream_dir(template: &[u8], known: &Placeholders<'_>) -> Vec<u8> {
    let filled = Placeholders { task: None, instance: None, cwd: None, ..*known }.fill(template);
    join(known.submit_dir.unwrap_or_default(), filled)
}

fn join(base: &[u8], path: Vec<u8>) -> Vec<u8> {
    if path.starts_with(b"/") || base.is_empty() {
        return path;
    }
    if path.is_empty() {
        return base.to_vec();
    }
    let mut joined = base.to_vec();
    if !joined.ends_with(b"/") {
        joined.push(b'/');
    }
    joined.extend_from_slice(&path);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_in_once() {
        let known = Placeholders {
            job: Some(JobId(1)),
            instance: Some(Instance(0)),
            submit_dir: Some(b"/s"),
            cwd: Some(b"/%{JOB_ID}"),
            ..Placeholders::default()
        };
        for (template, filled) in [
            ("a", "a"),
            ("%{JOB_ID}/%{TASK_ID}", "1/%{TASK_ID}"),
            ("%{CWD}", "/%{JOB_ID}"),
            ("%{FOO}%{", "%{FOO}%{"),
            ("%{%{JOB_ID}}", "%{%{JOB_ID}}"),
        ] {
            assert_eq!(known.fill(template.as_bytes()), filled.as_bytes(), "{template}");
        }
        let cwd = working_dir(b"%{INSTANCE_ID}-dir", &known);
        assert_eq!(cwd, b"/s/0-dir");
        assert_eq!(output_path(b"%{INSTANCE_ID}.out", &cwd, &known), b"/s/0-dir/0.out");
        assert_eq!(output_path(b"%{CWD}/job-%{JOB_ID}/x", &cwd, &known), b"/s/0-dir/job-1/x");
        assert_eq!(names(b"%{A}x%{B}"), ["A", "B"]);
        let known = Placeholders { task: Some(TaskNumber(7)), server_uid: Some("uid"), ..known };
        for (template, filled) in [
            ("log", "/s/log"),
            ("/x/%{JOB_ID}-%{SERVER_UID}", "/x/1-uid"),
            ("%{SUBMIT_DIR}/a/%{TASK_ID}%{INSTANCE_ID}%{CWD}", "/s/a/%{TASK_ID}%{INSTANCE_ID}%{CWD}"),
        ] {
            assert_eq!(stream_dir(template.as_bytes(), &known), filled.as_bytes(), "{template}");
        }
    }
}
