//! From the file to what is submitted.

use std::ops::Range;

use hq_core::{
    Blob, IdList, JobId, JobSpec, JobTarget, PROGRAM_KIND, Parts, Pin, Profile, ProgramSpec, Stdio, Submit, TaskIds,
};
use toml::Spanned;

use super::{
    error::{Bad, FileError},
    graph::{Graph, encode},
    pieces::pieces,
    raw, values,
};
use crate::{
    args::Channel,
    parse,
    program::{self, ENTRY_MAX},
};

/// What a job file asks for.
#[derive(Debug)]
pub(crate) struct JobFile {
    /// Its tasks.
    pub(crate) submit: Submit,
    /// What is probably a mistake.
    pub(crate) warnings: Vec<String>,
}

/// Reads a job file. With `job` its tasks become part of that open job. `submit_dir` is the working directory of who
/// submits it.
///
/// # Errors
/// What is wrong, with line and column.
pub(crate) fn parse(text: &str, job: Option<JobId>, submit_dir: &Blob) -> Result<JobFile, FileError> {
    read(text, job, submit_dir).map_err(|bad| bad.locate(text))
}

fn read(text: &str, job: Option<JobId>, submit_dir: &Blob) -> Result<JobFile, Bad> {
    let mut reader = Reader { submit_dir, stream: None, warnings: vec![] };
    let (mut target, mut array, mut graph) = (None, None, Graph::default());
    for (start, piece) in pieces(text) {
        let in_file = |bad: Bad| bad.behind(start);
        let file: raw::File = toml::from_str(piece).map_err(|error| in_file(Bad::of_toml(&error, piece)))?;
        if target.is_none() {
            target = Some(reader.target(&file, job)?);
            if let Some(stream) = &file.stream {
                reader.stream_into(stream)?;
            }
        }
        array = array.or(file.array.map(|array| (array, start)));
        let has_tasks = !graph.is_empty() || !file.tasks.is_empty();
        if let Some((array, start)) = array.as_ref().filter(|_| has_tasks) {
            let reason = "Definition of array job and individual task cannot be mixed";
            return Err(Bad::new(array.span(), reason).behind(*start));
        }
        file.tasks.iter().try_for_each(|task| reader.node(task, start, &mut graph)).map_err(in_file)?;
    }
    let submit = match (target, array) {
        (Some(target), Some((array, _))) => reader.array(&array, target)?,
        (Some(target), None) if !graph.is_empty() => graph.submit(text, target)?,
        _ => return Err(Bad::new(0..0, "No tasks defined")),
    };
    Ok(JobFile { submit, warnings: reader.warnings })
}

struct Reader<'a> {
    submit_dir: &'a Blob,
    /// Where outputs go that a task says nothing of.
    stream: Option<Blob>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn target(&mut self, file: &raw::File, job: Option<JobId>) -> Result<JobTarget, Bad> {
        if let Some(job) = job {
            if file.name.is_some() || file.max_fails.is_some() {
                self.warn(format!("`name` and `max_fails` of the file have no effect: job {job} has them already."));
            }
            return Ok(JobTarget::Attach(job));
        }
        let name = match &file.name {
            Some(name) if !name.get_ref().is_empty() => {
                parse::job_name(name.get_ref()).map_err(|reason| Bad::new(name.span(), reason))?
            }
            _ => String::new(),
        };
        Ok(JobTarget::New(JobSpec { name, max_fails: file.max_fails }))
    }

    fn stream_into(&mut self, dir: &Spanned<String>) -> Result<(), Bad> {
        let path = dir.get_ref().as_bytes();
        if path.is_empty() {
            return Err(Bad::new(dir.span(), "the path of the stream directory is empty"));
        }
        if let Some(warning) = program::unknown_in_stream(path) {
            self.warn(warning);
        }
        self.stream = Some(path.into());
        Ok(())
    }

    fn array(&mut self, array: &Spanned<raw::Task>, target: JobTarget) -> Result<Submit, Bad> {
        let raw = array.get_ref();
        not_here(raw.id.as_ref().map(Spanned::span), "id", "an array has `ids`")?;
        for (deps, key) in [(&raw.deps, "deps"), (&raw.deps_any, "deps_any"), (&raw.deps_failed, "deps_failed")] {
            not_here(deps.as_ref().map(Spanned::span), key, "tasks of an array wait for nothing")?;
        }
        let entries = raw.entries.as_ref().map(|entries| (entries.get_ref(), entries.span()));
        let ids = match (&raw.ids, &entries) {
            (None, None) => return Err(Bad::new(array.span(), "An array needs `ids` or `entries`")),
            (None, Some((entries, span))) => {
                let too_many = |_| Bad::new(span.clone(), "there are too many entries");
                let count = u32::try_from(entries.len()).map_err(too_many)?;
                match target {
                    JobTarget::Attach(_) => TaskIds::Next(count),
                    JobTarget::New(_) => TaskIds::Given(IdList::range(0, count)),
                }
            }
            (Some(ids), _) => {
                let bad = |error| Bad::inside(ids.span(), parse::ids_place(ids.get_ref(), &error), error.to_string());
                let list = IdList::parse(ids.get_ref()).map_err(bad)?;
                TaskIds::Given(list)
            }
        };
        let given = entries.as_ref().map(|(entries, span)| (entries.len() as u64, span));
        if let Some((_, span)) = given.filter(|(count, _)| *count != ids.count()) {
            return Err(Bad::new(span.clone(), "Items 'ids' and 'entries' does not match"));
        }
        if ids.count() == 0 {
            return Err(Bad::new(array.span(), "No tasks defined"));
        }
        let (mut parts, mut gaps) = (Parts::default(), vec![]);
        let mut longest = 0;
        if let Some((entries, span)) = entries {
            longest = entries.iter().map(String::len).max().unwrap_or_default();
            if longest > ENTRY_MAX || entries.iter().any(|entry| entry.contains('\0')) {
                let reason = format!("an entry has at most {ENTRY_MAX} bytes, and none that is zero");
                return Err(Bad::new(span, reason));
            }
            let all = Parts::new(entries).ok_or_else(|| Bad::new(span.clone(), "the entries are too large"))?;
            (parts, gaps) = program::with_empty_ones(all).map_err(|reason| Bad::new(span, reason))?;
        }
        let (profile, spec) = self.task(array, longest)?;
        let shared = encode(&program::with_gaps(spec, gaps), array.span())?;
        Ok(Submit { parts, ..Submit::array(target, ids, PROGRAM_KIND, shared.into(), profile) })
    }

    /// A task of the piece that begins at `start`.
    fn node(&mut self, task: &Spanned<raw::Task>, start: usize, graph: &mut Graph) -> Result<(), Bad> {
        let raw = task.get_ref();
        not_here(raw.ids.as_ref().map(Spanned::span), "ids", "a task has an `id`")?;
        not_here(raw.entries.as_ref().map(Spanned::span), "entries", "a task has none")?;
        graph.add(task, self.task(task, 0)?, start)
    }

    /// What a task needs and what it runs. `longest`: bytes of its entry, at most.
    fn task(&mut self, task: &Spanned<raw::Task>, longest: usize) -> Result<(Profile, ProgramSpec), Bad> {
        let raw = task.get_ref();
        let command = raw.command.get_ref();
        if command.first().is_none_or(|program| program.get_ref().is_empty()) {
            return Err(Bad::new(raw.command.span(), "the command is empty: name the program to run"));
        }
        let blob = |text: &str| Blob::from(text.as_bytes());
        let spec = ProgramSpec {
            args: command.iter().map(|arg| blob(arg.get_ref())).collect(),
            env: raw.env.iter().map(|(name, value)| (blob(name.get_ref()), blob(value.get_ref()))).collect(),
            cwd: blob(self.cwd(raw.cwd.as_ref())?),
            stdout: values::output(raw.stdout.as_ref(), self.stream.as_ref(), Channel::Stdout)?,
            stderr: values::output(raw.stderr.as_ref(), self.stream.as_ref(), Channel::Stderr)?,
            stdin: raw.stdin.as_deref().map(blob),
            submit_dir: self.submit_dir.clone(),
            pin: match raw.pin {
                None | Some(raw::Pin::None) => Pin::None,
                Some(raw::Pin::Taskset) => Pin::Taskset,
                Some(raw::Pin::Omp) => Pin::OpenMp,
            },
            task_dir: raw.task_dir,
        };
        if let Some(name) = raw.env.keys().find(|name| name.get_ref().is_empty() || name.get_ref().contains('=')) {
            let reason = format!("`{}` cannot be the name of an environment variable", name.get_ref());
            return Err(Bad::new(name.span(), reason));
        }
        program::check(&spec, longest).map_err(|error| Bad::new(place(raw, &spec), error.to_string()))?;
        self.outputs(&spec);
        let profile = Profile {
            priority: raw.priority,
            time_limit: raw.time_limit.as_ref().map(values::span).transpose()?,
            crash_limit: raw.crash_limit.as_ref().map(values::crash_limit).transpose()?.unwrap_or_default(),
            task_dir: raw.task_dir,
            retry: raw.retry.as_ref().map(values::retry).transpose()?.unwrap_or_default(),
            ..Profile::new(values::variants(&raw.requests)?)
        };
        let rules = || raw.retry.as_ref().map_or_else(|| raw.command.span(), Spanned::span);
        profile.check().map_err(|reason| Bad::new(rules(), reason))?;
        Ok((profile, spec))
    }

    fn cwd<'a>(&mut self, cwd: Option<&'a Spanned<String>>) -> Result<&'a str, Bad> {
        let Some(cwd) = cwd else { return Ok("%{SUBMIT_DIR}") };
        if let Some(error) = program::has_cwd(cwd.get_ref().as_bytes()) {
            return Err(Bad::new(cwd.span(), error));
        }
        self.look_for_unknown(cwd.get_ref().as_bytes(), "working directory path");
        Ok(cwd.get_ref())
    }

    fn outputs(&mut self, spec: &ProgramSpec) {
        for (stdio, place) in [(&spec.stdout, "stdout path"), (&spec.stderr, "stderr path")] {
            if let Stdio::File { path, .. } = stdio {
                self.look_for_unknown(path, place);
            }
        }
    }

    fn look_for_unknown(&mut self, template: &[u8], place: &str) {
        if let Some(warning) = program::unknown(template, &[], place) {
            self.warn(warning);
        }
    }

    /// Once for all tasks.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Where in a task something is that no program can be given.
fn place(raw: &raw::Task, spec: &ProgramSpec) -> Range<usize> {
    let alone = |change: &dyn Fn(&mut ProgramSpec)| {
        let mut one = ProgramSpec::default();
        change(&mut one);
        program::check(&one, 0).is_err()
    };
    let args = spec.args.iter().zip(raw.command.get_ref());
    let arg = args.filter(|(arg, _)| alone(&|one| one.args.push((*arg).clone()))).map(|(_, given)| given.span());
    let variables = spec.env.iter().zip(&raw.env);
    let variable = variables.filter(|(both, _)| alone(&|one| one.env.push((*both).clone())));
    let variable = variable.map(|(_, (_, value))| value.span());
    let cwd = raw.cwd.as_ref().filter(|_| alone(&|one| one.cwd = spec.cwd.clone())).map(Spanned::span);
    let stdout = raw.stdout.as_ref().filter(|_| alone(&|one| one.stdout = spec.stdout.clone())).map(Spanned::span);
    let stderr = raw.stderr.as_ref().filter(|_| alone(&|one| one.stderr = spec.stderr.clone())).map(Spanned::span);
    // All of it together is too much.
    arg.chain(variable).chain(cwd).chain(stdout).chain(stderr).next().unwrap_or_else(|| raw.command.span())
}

fn not_here(span: Option<Range<usize>>, key: &str, why: &str) -> Result<(), Bad> {
    span.map_or(Ok(()), |span| Err(Bad::new(span, format!("unknown field `{key}` here: {why}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::table,
        view::{Body, body},
    };

    fn parsed(text: &str, job: Option<u32>) -> Result<JobFile, FileError> {
        parse(text, job.map(JobId), &Blob::from(&b"/w"[..]))
    }

    fn shown(file: &JobFile) -> String {
        let JobFile { submit, warnings } = file;
        let mut text = match &submit.ids {
            TaskIds::Given(ids) => ids.to_string(),
            TaskIds::Next(count) => format!("next {count}"),
        };
        if let JobTarget::New(spec) = &submit.job {
            text += &format!(" `{}` {:?}", spec.name, spec.max_fails);
        }
        for index in 0..submit.ids.count() {
            let edge = |(on, kind)| match kind {
                hq_core::DepKind::Success => format!("{on}"),
                hq_core::DepKind::AnyEnd => format!("any {on}"),
                hq_core::DepKind::Failure => format!("failed {on}"),
            };
            let on: Vec<_> = submit.deps.of(index).map(edge).collect();
            let entry = match body(submit) {
                Body::Array(_) => String::from_utf8_lossy(submit.parts.get(index)).into_owned(),
                _ => String::new(),
            };
            let needs: Vec<_> = submit.profile(index).variants.iter().map(request).collect();
            let rules = submit.profile(index).retry.iter().map(|rule| format!(" retry {rule}"));
            text += &format!(" [{entry}{} {}{}]", on.join(","), needs.join(" or "), rules.collect::<String>());
        }
        text + &warnings.iter().map(|warning| format!(" WARN {warning}")).collect::<String>()
    }

    fn request(request: &hq_core::Request) -> String {
        let mut parts: Vec<_> = request.entries().iter().map(|e| format!("{}={}", e.resource, e.quantity)).collect();
        parts.extend((request.nodes() > 0).then(|| format!("n{}", request.nodes())));
        parts.extend((request.min_time() != hq_core::Span::ZERO).then(|| request.min_time().to_string()));
        parts.extend((request.weight() != 10_000).then(|| format!("w{}", request.weight())));
        parts.join("+")
    }

    /// Rows `file` and, for those that are submitted to open job 1, `attach`: a file with `\n` for its line ends.
    #[test]
    fn vectors() {
        table::check("jobfile.txt", |kind, text| {
            let job = (kind == "attach").then_some(1);
            parsed(&text.replace("\\n", "\n"), job).map_or_else(|error| format!("error {error}"), |file| shown(&file))
        });
    }

    /// It is read in pieces.
    #[test]
    fn a_long_file_is_read_as_a_short_one() {
        let task =
            |id: u32| format!("[[task]]\nid = {id}\ncommand = [\"a\"]\npriority = {}\ndeps = [{}]\n", id % 2, id + 1);
        let long: String = (0..4_000).map(task).collect();
        assert!(long.len() > 200_000, "several pieces: {}", long.len());
        let submit = parsed(&(long.clone() + "[[task]]\nid = 4000\ncommand = [\"a\"]"), None).expect("a graph").submit;
        assert!(matches!(&submit.ids, TaskIds::Given(ids) if ids.iter().next() == Some(4_000)), "{:?}", submit.ids);
        assert_eq!((submit.ids.count(), submit.deps.of(0).count(), submit.deps.of(4_000).count()), (4_001, 0, 1));
        assert_eq!((0..4_001).filter(|index| submit.profile(*index).priority == 1).count(), 2_000);
        let more = "[[task]]\nid = 4000\ncommand = [\"a\"]\n";
        for (end, error) in [
            (String::new(), "line 20000, column 9: Task 3999 is part of dependency cycle or has an invalid"),
            (more.to_owned() + "deps = [\n 4000]", "line 20005, column 2: Task 4000 is part of dependency cycle"),
            (more.replace("4000", "5"), "line 20002, column 6: Task 5 is defined multiple times"),
            (more.to_owned() + "nice = 3", "line 20004, column 1: unknown field `nice`"),
            (more.to_owned() + "[array]\nids = \"1\"\ncommand = [\"a\"]", "line 20004, column 1: Definition of array"),
            (more.replace("\"a\"", "\"\""), "line 20003, column 11: the command is empty"),
            (more.to_owned() + "cwd = \"", "line 20004, column "),
        ] {
            let found = parsed(&(long.clone() + &end), None).expect_err(&end).to_string();
            assert!(found.starts_with(error), "{end:?}: {found}");
        }
    }

    #[test]
    fn all_keys_arrive() {
        let file = parsed(
            r#"
            name = "n"
            max_fails = 3
            data_layer = true
            [[task]]
            id = 7
            command = ["a", "b c"]
            env = { B = "2", A = "1" }
            stdout = "out-%{TASK_ID}"
            stderr = { path = "err", on_close = "rm-if-finished" }
            stdin = "input"
            cwd = "d"
            pin = "omp"
            task_dir = true
            time_limit = "1m 30s"
            priority = -5
            crash_limit = "never-restart"
            retry = "start:3"
            "#,
            None,
        )
        .expect("parses");
        let submit = file.submit;
        let spec = body(&submit).program(&submit, 0).expect("a program");
        let blob = |text: &str| Blob::from(text.as_bytes());
        let expected = ProgramSpec {
            args: vec![blob("a"), blob("b c")],
            env: vec![(blob("A"), blob("1")), (blob("B"), blob("2"))],
            cwd: blob("d"),
            stdout: Stdio::File { path: blob("out-%{TASK_ID}"), on_close: hq_core::OnClose::Keep },
            stderr: Stdio::File { path: blob("err"), on_close: hq_core::OnClose::RemoveIfFinished },
            stdin: Some(blob("input")),
            submit_dir: blob("/w"),
            pin: Pin::OpenMp,
            task_dir: true,
        };
        assert_eq!(spec, expected);
        let profile = Profile {
            priority: -5,
            time_limit: Some(hq_core::Span::secs(90)),
            crash_limit: hq_core::CrashLimit::NeverRestart,
            task_dir: true,
            retry: vec![hq_core::RetryRule::parse("start:3").expect("a rule")],
            ..Profile::new(hq_core::Request::cpus(1).expect("a request"))
        };
        assert_eq!(submit.profiles, [profile]);
    }

    #[test]
    fn many_tasks_share_what_they_need() {
        let task = |n: u32| format!("[[task]]\nid = {n}\ncommand = [\"p\"]\npriority = {}\n", n % 3);
        let text: String = (0..300).map(task).collect();
        let submit = parsed(&text, None).expect("parses").submit;
        assert_eq!((submit.profiles.len(), submit.profile_of.len()), (3, 300));
        assert_eq!(submit.check(), Ok(()));
    }
}
