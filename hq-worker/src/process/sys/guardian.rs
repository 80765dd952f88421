use std::{
    io::{self, PipeWriter, Read},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    ptr,
    sync::Arc,
};

use libc::{c_int, c_uint};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{
    Ledger,
    proc_scan::{Process, each_process, each_run_of, session_of},
};

/// How long the guardian leaves the groups between SIGTERM and SIGKILL.
const GRACE_MS: i64 = 250;
/// How long killed processes get to end, and their children to change hands, before the next look.
const PAUSE_MS: i64 = 10;
/// How often it looks; more than a tree is deep.
const ROUNDS: u32 = 200;

/// A tiny child of the worker that outlives it by a moment, to kill the processes that it leaves behind.
///
/// It sleeps on a pipe whose only writing end is ours; who is to be killed is in the [`Ledger`], which is shared memory.
/// It is a fork that never calls `execve`: made before the process has grown, it costs a few pages.
pub(crate) struct Guardian {
    pipe: Option<PipeWriter>,
    pid: libc::pid_t,
    pidfd: Option<OwnedFd>,
}

impl Guardian {
    /// Starts the process, and returns when it is out of reach of signals to the worker's group.
    ///
    /// # Errors
    /// When the system gives no process or descriptor.
    pub(crate) fn start(ledger: &Arc<Ledger>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let (mut ready, ready_writer) = io::pipe()?;
        // SAFETY: the child calls `watch`, which is async-signal-safe and does not return.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => watch(reader.as_raw_fd(), ready_writer.as_raw_fd(), ledger),
            _ => {
                // Dropped on an error: the process ends with its pipe.
                let mut guardian = Self { pipe: Some(writer), pid, pidfd: None };
                drop(ready_writer);
                ready.read_exact(&mut [0])?;
                let id = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
                guardian.pidfd = Some(pidfd_open(id, PidfdFlags::empty())?);
                Ok(guardian)
            }
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Readable once it has ended.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for Guardian {
    /// Kills what is still live, and reaps the guardian.
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
fn watch(pipe: RawFd, ready: RawFd, ledger: &Ledger) -> ! {
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
        ledger.each_leader(|leader| {
            any = true;
            libc::kill(-leader, libc::SIGTERM);
        });
        if any {
            sleep(GRACE_MS);
            ledger.each_leader(|leader| {
                libc::kill(-leader, libc::SIGKILL);
            });
            let mut round = 0;
            while round < ROUNDS && kill_the_rest(ledger) {
                sleep(PAUSE_MS);
                round += 1;
            }
        }
        libc::_exit(0)
    }
}

/// Kills what the groups did not hold: who is in a session of a run, or an orphan with the mark of one. The orphans of
/// those that it kills are seen the next time. False when there was nobody left. Async-signal-safe.
fn kill_the_rest(ledger: &Ledger) -> bool {
    // SAFETY: plain system calls on numbers.
    let (me, heir) = unsafe { (libc::getpid(), libc::getppid()) };
    let mut any = false;
    each_process(|pid| {
        // Threads of the kernel, and processes outside of what we can see, have session 0.
        if pid == me || session_of(pid).is_none_or(|session| session == 0) {
            return;
        }
        let Some(process) = Process::find(pid).filter(|process| !process.is_dead) else { return };
        let mut is_ours = ledger.is_leader(process.session);
        // Who inherited us inherited all other children of the worker as well.
        if !is_ours && process.parent == heir {
            each_run_of(pid, ledger.mark().text(), |run| is_ours |= ledger.is_live(run));
        }
        if is_ours {
            any = true;
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    any
}

/// Async-signal-safe.
fn sleep(milliseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
    // SAFETY: reads our own stack. All signals are blocked.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
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
