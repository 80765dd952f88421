use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::fd::AsRawFd,
};

use hq_core::{PROGRAM_KIND, ProgramBody, ProgramSpec, SubmitBody};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::process::StringTable;

/// A program as its user described it, made ready as far as it is the same for all runs.
#[derive(Debug)]
pub(super) struct Plan {
    /// The description; it has at least one argument, and its input has moved to `stdin`.
    pub(super) spec: ProgramSpec,
    /// Its arguments.
    pub(super) args: StringTable,
    /// What it reads, in memory, sealed.
    stdin: Option<File>,
}

/// The shared part of a submit, read once.
#[derive(Debug)]
pub(super) enum Shared {
    /// One program for all; parts are entries.
    Same(Box<Plan>),
    /// The parts are programs.
    PerTask,
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
        Ok(Self { spec, args, stdin })
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
