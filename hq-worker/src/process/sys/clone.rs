use std::{
    io,
    marker::PhantomData,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use libc::{c_char, c_int, c_void};

use super::{
    Failure, Ledger, Program, Stage,
    child::{ChildPlan, child_main},
};
use crate::process::StringTable;

const STACK: usize = 64 << 10;
const GUARD: usize = 64 << 10;

/// A process that has been made.
pub(crate) struct Spawned {
    /// Its id, which is also that of its group and session.
    pub(crate) pid: i32,
    /// Readable once it has ended.
    pub(crate) pidfd: OwnedFd,
}

/// Makes child processes from one thread, which must block all signals and live as long as they do: their parent-death
/// signal comes when *this thread* ends.
pub(crate) struct Cloner {
    /// Lower end of the stack that children use one after the other; below the usable part lies a guard.
    stack: *mut c_void,
    pointers: Vec<*const c_char>,
    parent: libc::pid_t,
    one_thread: PhantomData<*mut ()>,
}

impl Cloner {
    /// For the calling thread; blocks all its signals from now on.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a new mapping, whose lowest part is made inaccessible; then the thread's own signal mask.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
            let stack = libc::mmap(ptr::null_mut(), GUARD + STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if stack == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let cloner = Self { stack, pointers: vec![], parent: libc::getpid(), one_thread: PhantomData };
            if libc::mprotect(stack, GUARD, libc::PROT_NONE) < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut()) {
                0 => Ok(cloner),
                errno => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    /// Starts a program; returns when it runs or has failed to.
    ///
    /// `key` goes in front of its environment. The run is in the ledger before the program runs. On failure nothing is
    /// left behind.
    pub(crate) fn spawn(
        &mut self,
        program: &Program<'_>,
        ledger: &Ledger,
        run: u64,
        key: &StringTable,
    ) -> Result<Spawned, Failure> {
        self.pointers.clear();
        self.pointers.extend(program.args.iter().flat_map(|table| table.pointers()));
        self.pointers.push(ptr::null());
        let env = self.pointers.len();
        self.pointers.extend(key.pointers());
        self.pointers.extend(program.env.iter().flat_map(|table| table.pointers()));
        self.pointers.push(ptr::null());
        let mut plan = ChildPlan {
            path: program.path,
            argv: self.pointers.as_ptr(),
            envp: self.pointers[env..].as_ptr(),
            cwd: program.cwd,
            stdio: program.stdio.map(|fd| fd.as_raw_fd()),
            parent: self.parent,
            ledger,
            run,
            failure: None,
        };
        let mut pidfd: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the child runs `child_main` on a stack of its own, which no other child uses meanwhile: CLONE_VFORK
        // holds this thread until the child has left our memory. The plan and all it points to live that long. Signals
        // are blocked in this thread, so no handler runs on the shared memory in the child.
        let pid = unsafe {
            let top = self.stack.byte_add(GUARD + STACK);
            libc::clone(child_main, top, flags, (&raw mut plan).cast::<c_void>(), &raw mut pidfd)
        };
        if pid < 0 {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(Failure { stage: Stage::Clone, errno });
        }
        if pidfd < 0 {
            // A kernel that does not know CLONE_PIDFD: not supported, and the child must not go astray.
            ledger.remove(pid, run);
            reap_now(pid, true);
            return Err(Failure { stage: Stage::Clone, errno: libc::ENOSYS });
        }
        // SAFETY: the kernel made the descriptor for us; nobody else knows it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        // SAFETY: the place is ours; volatile, since the writer is another process to the compiler.
        match unsafe { ptr::read_volatile(&raw const plan.failure) } {
            None => Ok(Spawned { pid, pidfd }),
            Some(failure) => {
                ledger.remove(pid, run);
                reap_now(pid, false);
                Err(failure)
            }
        }
    }
}

impl Drop for Cloner {
    fn drop(&mut self) {
        // SAFETY: our mapping; no child is on it, since `spawn` waits for them.
        unsafe { libc::munmap(self.stack, GUARD + STACK) };
    }
}

/// Waits for a child of ours that is at its end.
fn reap_now(pid: libc::pid_t, kill: bool) {
    let mut status = 0;
    // SAFETY: a child of ours that nobody else waits for.
    unsafe {
        if kill {
            libc::kill(pid, libc::SIGKILL);
        }
        while libc::waitpid(pid, &raw mut status, 0) == -1 && *libc::__errno_location() == libc::EINTR {}
    }
}
