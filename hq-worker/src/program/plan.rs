use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::fd::AsRawFd,
    sync::Arc,
};

use hq_core::{Blob, PROGRAM_KIND, ProgramBody, ProgramSpec, ProgramTemplate, SubmitBody};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::environment::is_of_entry;
use crate::process::StringTable;

/// A program as its user described it, made ready as far as it is the same for all runs.
#[derive(Debug)]
pub(super) struct Plan {
    /// The description; it has at least one argument, and its input has moved to `stdin`.
    pub(super) spec: ProgramSpec,
    /// Its arguments.
    pub(super) args: StringTable,
    /// What it reads, in memory, sealed.
    stdin: Option<Arc<File>>,
}

/// The shared part of a submit, read once.
#[derive(Debug)]
pub(super) enum Shared {
    /// One program for all; parts are entries.
    Same(Box<Plan>),
    /// The parts are programs.
    PerTask,
    /// One program with gaps; the parts fill them.
    Template(Box<Template>),
}

/// A program with gaps.
#[derive(Debug)]
pub(super) struct Template {
    template: ProgramTemplate,
    /// With its gaps empty: what tasks have in common.
    pub(super) common: Plan,
}

impl Template {
    fn new(mut template: ProgramTemplate) -> Result<Self, String> {
        let is_gaps = |name: &[u8]| template.gaps.iter().any(|gap| gap.env.as_bytes() == name);
        template.spec.env.retain(|(name, _)| !is_gaps(name));
        if let Some(gap) = template.gaps.iter().find(|gap| !gap.env.is_empty() && !is_of_entry(gap.env.as_bytes())) {
            return Err(format!("`{}` is no variable of a single task", gap.env));
        }
        let common = Plan::new(template.fill(&[]))?;
        Ok(Self { template, common })
    }

    /// The program of a task, and its variables.
    ///
    /// # Errors
    /// As [`Shared::new`].
    pub(super) fn of_part(&self, part: &[u8]) -> Result<(Plan, Vec<(String, Blob)>), String> {
        let values: Vec<Blob> = decode(part)?;
        let variables = self.template.variables(&values).map(|(name, value)| (name.to_owned(), value.clone()));
        let variables = variables.collect();
        let spec = ProgramSpec { stdin: None, ..self.template.fill(&values) };
        Ok((Plan { stdin: self.common.stdin.clone(), ..Plan::new(spec)? }, variables))
    }
}

impl Shared {
    /// Reads the shared bytes.
    ///
    /// # Errors
    /// When they are none, or the program cannot be made ready; the text is for people.
    pub(super) fn new(body: &SubmitBody) -> Result<Self, String> {
        match decode(&body.shared)? {
            ProgramBody::Same(spec) => Ok(Self::Same(Box::new(Plan::new(spec)?))),
            ProgramBody::PerTask => Ok(Self::PerTask),
            ProgramBody::Template(template) => Ok(Self::Template(Box::new(Template::new(*template)?))),
        }
    }
}

impl Plan {
    /// Reads a task's own program.
    ///
    /// # Errors
    /// As [`Shared::new`].
    pub(super) fn of_part(part: &[u8]) -> Result<Self, String> {
        Self::new(decode(part)?)
    }

    fn new(mut spec: ProgramSpec) -> Result<Self, String> {
        if spec.args.is_empty() {
            return Err("the task has no program to run".to_owned());
        }
        let mut args = StringTable::default();
        for (n, arg) in spec.args.iter().enumerate() {
            args.push(&[arg]).map_err(|_| format!("argument {n} of the program holds a zero byte"))?;
        }
        let stdin = spec.stdin.take().as_deref().map(in_memory).transpose();
        let stdin = stdin.map_err(|error| format!("cannot keep the standard input of the task in memory: {error}"))?;
        Ok(Self { spec, args, stdin: stdin.map(Arc::new) })
    }

    /// The standard input, to be read from its beginning; none for a program that reads nothing.
    ///
    /// It is a file in memory: the system hands it out, nobody has to write, and a program that does not read to the end
    /// disturbs nobody.
    pub(super) fn open_stdin(&self) -> io::Result<Option<File>> {
        let Some(file) = &self.stdin else { return Ok(None) };
        // By its path, for a position of its own.
        OpenOptions::new().read(true).open(format!("/proc/self/fd/{}", file.as_raw_fd())).map(Some)
    }
}

fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("hq-stdin", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(format!("the body of the task is not one of kind `{PROGRAM_KIND}`")),
    }
}
