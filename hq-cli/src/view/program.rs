use hq_core::{
    Blob, Gap, Instance, JobId, PROGRAM_KIND, ProgramBody, ProgramSpec, ProgramTemplate, Stdio, Submit, TaskNumber,
    placeholder::{Placeholders, output_path, stream_dir, working_dir},
};

/// What the tasks of a submit are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// All run this program.
    Array(ProgramSpec),
    /// All run this one but for its gaps, with their names where values go.
    Template(ProgramSpec, Box<ProgramTemplate>),
    /// Each has a program of its own.
    Graph,
    /// Something that is not a program, or not readable.
    Other,
}

/// What the tasks of `submit` are.
pub(crate) fn body(submit: &Submit) -> Body {
    if submit.kind != PROGRAM_KIND {
        return Body::Other;
    }
    match postcard::from_bytes(&submit.shared) {
        Ok(ProgramBody::Same(spec)) => Body::Array(spec),
        Ok(ProgramBody::Template(template)) => Body::Template(outline(&template), template),
        Ok(ProgramBody::PerTask) => Body::Graph,
        Err(_) => Body::Other,
    }
}

/// The program with the names of its gaps.
fn outline(template: &ProgramTemplate) -> ProgramSpec {
    let name = |gap: &Gap| if gap.name.is_empty() { "{}".to_owned() } else { format!("%{{{}}}", gap.name) };
    template.fill(&template.gaps.iter().map(|gap| Blob::from(name(gap).as_bytes())).collect::<Vec<_>>())
}

impl Body {
    /// The program of task `index`, as far as it came along.
    pub(crate) fn program(&self, submit: &Submit, index: u64) -> Option<ProgramSpec> {
        match self {
            Self::Array(spec) => Some(spec.clone()),
            Self::Template(outline, template) => match postcard::from_bytes::<Vec<Blob>>(submit.parts.get(index)) {
                Ok(values) => Some(template.fill(&values)),
                Err(_) => Some(outline.clone()),
            },
            Self::Graph => postcard::from_bytes(submit.parts.get(index)).ok(),
            Self::Other => None,
        }
    }
}

/// Directory and output files of a program, with placeholders filled in as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Working directory.
    pub(crate) cwd: Vec<u8>,
    /// Standard output.
    pub(crate) stdout: Target,
    /// Standard error.
    pub(crate) stderr: Target,
}

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Nowhere.
    None,
    /// To this file.
    File(Vec<u8>),
    /// Into the stream files of this directory.
    Stream(Vec<u8>),
    /// To clients that listen.
    Live,
}

impl Target {
    /// As tables show it.
    pub(super) fn label(&self) -> String {
        match self {
            Self::None => "<None>".to_owned(),
            Self::File(path) => lossy(path),
            Self::Stream(_) | Self::Live => "<Stream>".to_owned(),
        }
    }

    /// As JSON shows it.
    pub(super) fn json(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::File(path) => Some(lossy(path)),
            Self::Stream(_) | Self::Live => Some("<pipe>".to_owned()),
        }
    }
}

impl Paths {
    /// As the user gave them.
    pub(super) fn as_given(spec: &ProgramSpec) -> Self {
        let output = |stdio: &Stdio| match stdio {
            Stdio::Null => Target::None,
            Stdio::File { path, .. } => Target::File(path.to_vec()),
            Stdio::Stream { dir } => Target::Stream(dir.to_vec()),
            Stdio::Live => Target::Live,
        };
        Self { cwd: spec.cwd.to_vec(), stdout: output(&spec.stdout), stderr: output(&spec.stderr) }
    }
}

/// Paths of one run of a task.
pub(crate) fn final_paths(
    spec: &ProgramSpec,
    job: JobId,
    server_uid: &str,
    task: TaskNumber,
    instance: Instance,
) -> Paths {
    fill(spec, &Placeholders { task: Some(task), instance: Some(instance), ..known(spec, job, server_uid) })
}

/// Paths as far as they are the same for all tasks.
pub(crate) fn common_paths(spec: &ProgramSpec, job: JobId, server_uid: &str) -> Paths {
    fill(spec, &known(spec, job, server_uid))
}

fn known<'a>(spec: &'a ProgramSpec, job: JobId, server_uid: &'a str) -> Placeholders<'a> {
    Placeholders {
        job: Some(job),
        submit_dir: Some(&spec.submit_dir),
        server_uid: Some(server_uid),
        ..Placeholders::default()
    }
}

fn fill(spec: &ProgramSpec, known: &Placeholders<'_>) -> Paths {
    let cwd = working_dir(&spec.cwd, known);
    let output = |stdio: &Stdio| match stdio {
        Stdio::Null => Target::None,
        Stdio::File { path, .. } => Target::File(output_path(path, &cwd, known)),
        Stdio::Stream { dir } => Target::Stream(stream_dir(dir, known)),
        Stdio::Live => Target::Live,
    };
    Paths { stdout: output(&spec.stdout), stderr: output(&spec.stderr), cwd }
}

/// Bytes as text, with marks for what is not UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use hq_core::OnClose;

    use super::*;

    fn spec(cwd: &str, stdout: &str) -> ProgramSpec {
        ProgramSpec {
            cwd: cwd.as_bytes().into(),
            stdout: Stdio::File { path: stdout.as_bytes().into(), on_close: OnClose::Keep },
            submit_dir: b"/s"[..].into(),
            ..ProgramSpec::default()
        }
    }

    #[test]
    fn paths() {
        const USUAL: &str = "%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stdout";
        for (cwd, stdout, common, run) in [
            ("%{SUBMIT_DIR}", USUAL, "/s/job-1/%{TASK_ID}.stdout", "/s/job-1/7.stdout"),
            ("/tmp/%{TASK_ID}", USUAL, "/tmp/%{TASK_ID}/job-1/%{TASK_ID}.stdout", "/tmp/7/job-1/7.stdout"),
            ("%{INSTANCE_ID}-dir", "%{INSTANCE_ID}.out", "/s/%{INSTANCE_ID}-dir/%{INSTANCE_ID}.out", "/s/2-dir/2.out"),
            ("d", "/x/%{SERVER_UID}-%{FOO}", "/x/AbC123-%{FOO}", "/x/AbC123-%{FOO}"),
        ] {
            let spec = spec(cwd, stdout);
            let file = |path: &str| Target::File(path.into());
            assert_eq!(common_paths(&spec, JobId(1), "AbC123").stdout, file(common), "{cwd} {stdout}");
            let last = final_paths(&spec, JobId(1), "AbC123", TaskNumber(7), Instance(2));
            assert_eq!((last.stdout, last.stderr), (file(run), Target::None), "{cwd} {stdout}");
        }
    }

    #[test]
    fn targets() {
        for (target, label, json) in [
            (Target::None, "<None>", None),
            (Target::File(b"/x".to_vec()), "/x", Some("/x")),
            (Target::Stream(b"/d".to_vec()), "<Stream>", Some("<pipe>")),
            (Target::Live, "<Stream>", Some("<pipe>")),
        ] {
            assert_eq!((target.label().as_str(), target.json().as_deref()), (label, json));
        }
    }
}
