use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::{Errno, ioctl_fionread},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
};

use crate::program::above_stdio;

/// A pipe: our end, which never blocks, and that of the program.
///
/// # Errors
/// When the system gives no descriptor.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, above_stdio(writer)?))
}

/// Lets so many bytes wait in a pipe, if the system allows it.
pub(super) fn widen(pipe: impl AsFd, bytes: usize) {
    let _ = fcntl_setpipe_size(pipe, bytes);
}

/// What came of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Got {
    /// So many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    End,
}

/// Reads what is there.
pub(super) fn read(pipe: impl AsFd, buffer: &mut [u8]) -> Got {
    loop {
        match rustix::io::read(&pipe, &mut *buffer) {
            Ok(0) => return Got::End,
            Ok(n) => return Got::Bytes(n),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Got::Nothing,
            // A pipe has no other errors.
            Err(_) => return Got::End,
        }
    }
}

/// Bytes that wait in it.
pub(super) fn waiting(pipe: impl AsFd) -> u64 {
    ioctl_fionread(pipe).unwrap_or(0)
}
