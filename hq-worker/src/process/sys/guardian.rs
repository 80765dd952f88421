use std::{
    io::{self, PipeWriter, Read},
    os::fd::{AsRawFd, RawFd},
    ptr,
};

use libc::{c_int, c_uint};

use super::{proc_scan::kill_session, table::GroupTable};

/// How long the guardian leaves the groups between SIGTERM and SIGKILL.
static GRACE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// A tiny child of the worker that outlives it by a moment, to kill the process groups that it leaves behind.
///
/// It sleeps on a pipe whose only writing end is ours; the list of groups is shared memory. It is a fork that never
/// calls `execve`: made before the process has grown, it costs a few pages.
pub(crate) struct Guardian {
    table: GroupTable,
    pipe: Option<PipeWriter>,
    pid: libc::pid_t,
}

impl Guardian {
    /// Starts the process, and returns when it is out of reach of signals to the worker's group.
    pub(crate) fn start() -> io::Result<Self> {
        let table = GroupTable::new()?;
        let (reader, writer) = io::pipe()?;
        let (mut ready, ready_writer) = io::pipe()?;
        // SAFETY: the child calls `watch`, which is async-signal-safe and does not return.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => watch(reader.as_raw_fd(), ready_writer.as_raw_fd(), &table),
            _ => {
                let guardian = Self { table, pipe: Some(writer), pid };
                drop(ready_writer);
                ready.read_exact(&mut [0])?;
                Ok(guardian)
            }
        }
    }

    /// From now on the group dies with the worker. Async-signal-safe.
    pub(crate) fn add(&self, group: i32) {
        self.table.add(group);
    }

    /// The group is none of ours any more; call it while its leader is not yet reaped.
    pub(crate) fn remove(&self, group: i32) {
        self.table.remove(group);
    }
}

impl Drop for Guardian {
    /// Kills what is still listed, and reaps the guardian.
    fn drop(&mut self) {
        drop(self.pipe.take());
        let mut status = 0;
        // SAFETY: waits for our own child. Interrupted calls are repeated; any other error means that it is gone.
        while unsafe { libc::waitpid(self.pid, &raw mut status, 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// The guardian's life. Async-signal-safe.
fn watch(pipe: RawFd, ready: RawFd, table: &GroupTable) -> ! {
    // SAFETY: system calls on our own process, with memory of our own stack.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
        // Signals for the worker's group or terminal are not for us.
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"hq-guardian".as_ptr());
        libc::chdir(c"/".as_ptr());
        let mut byte = 0u8;
        // Nothing of the worker is kept open: peers must see its end at once.
        if libc::write(ready, (&raw const byte).cast(), 1) != 1 || libc::dup2(pipe, 0) < 0 {
            libc::_exit(1);
        }
        close_from(1);
        while libc::read(0, (&raw mut byte).cast(), 1) > 0 {}
        let mut any = false;
        table.each(|group| {
            any = true;
            libc::kill(-group, libc::SIGTERM);
        });
        if any {
            libc::nanosleep(&raw const GRACE, ptr::null_mut());
        }
        table.each(|group| {
            libc::kill(-group, libc::SIGKILL);
            kill_session(group, libc::SIGKILL);
        });
        libc::_exit(0)
    }
}

/// Closes all descriptors from `first` on. Async-signal-safe.
pub(super) fn close_from(first: c_int) {
    // SAFETY: only called in processes that never go back to Rust code that owns descriptors.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first as c_uint, c_uint::MAX, 0) == 0 {
            return;
        }
        // Before Linux 5.9.
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let end = limit.rlim_cur.min(65_536) as c_int;
        let mut fd = first;
        while fd < end {
            libc::close(fd);
            fd += 1;
        }
    }
}
