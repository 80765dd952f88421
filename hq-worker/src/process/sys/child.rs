use std::{
    ffi::CStr,
    os::fd::{BorrowedFd, RawFd},
    ptr,
};

use libc::{c_char, c_int, c_void};

use super::{Ledger, guardian::close_from};
use crate::process::StringTable;

/// A program to be started: all that its process needs, ready made.
pub(crate) struct Program<'a> {
    /// The file; relative to `cwd`.
    pub(crate) path: &'a CStr,
    /// The arguments, end to end; the name comes first.
    pub(crate) args: &'a [&'a StringTable],
    /// The environment, end to end.
    pub(crate) env: &'a [&'a StringTable],
    /// The working directory.
    pub(crate) cwd: &'a CStr,
    /// Standard input, output and error. None of them may have a number below 3.
    pub(crate) stdio: [BorrowedFd<'a>; 3],
}

/// What failed in a child before its program ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The process itself.
    Clone,
    /// Session, signals, descriptors.
    Setup,
    /// The change to the working directory.
    Directory,
    /// The program.
    Exec,
}

/// Where and why a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Where.
    pub(crate) stage: Stage,
    /// The system's number of the reason.
    pub(crate) errno: i32,
}

/// What the child reads, and the place for its bad news; lives on the stack of the thread that waits for it.
pub(super) struct ChildPlan<'a> {
    pub(super) path: &'a CStr,
    pub(super) argv: *const *const c_char,
    pub(super) envp: *const *const c_char,
    pub(super) cwd: &'a CStr,
    pub(super) stdio: [RawFd; 3],
    pub(super) parent: libc::pid_t,
    pub(super) ledger: &'a Ledger,
    pub(super) run: u64,
    pub(super) failure: Option<Failure>,
}

/// The child's life until its program takes over.
///
/// It shares the memory of the worker, on a stack of its own, while the thread that made it waits: nothing here may
/// allocate, lock or panic. All signals are blocked at the start, so no handler of the worker can run in it.
pub(super) extern "C" fn child_main(plan: *mut c_void) -> c_int {
    // SAFETY: `Cloner::spawn` passes its plan, which nobody else touches until this process has left the memory.
    let plan = unsafe { &mut *plan.cast::<ChildPlan<'_>>() };
    let failure = prepare_and_exec(plan);
    // SAFETY: a write through a reference that is valid, see above; volatile, since the reader is another process
    // to the compiler.
    unsafe { ptr::write_volatile(&raw mut plan.failure, Some(failure)) };
    // SAFETY: ends this process without running anything of the worker's.
    unsafe { libc::_exit(127) }
}

fn prepare_and_exec(plan: &ChildPlan<'_>) -> Failure {
    // SAFETY: system calls on this process; all pointers are those of the plan or of this stack.
    unsafe {
        reset_handlers();
        if libc::setsid() < 0 {
            return failed(Stage::Setup);
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
            return failed(Stage::Setup);
        }
        // The worker may have died before the line above.
        if libc::getppid() != plan.parent {
            libc::_exit(127);
        }
        if libc::chdir(plan.cwd.as_ptr()) < 0 {
            return failed(Stage::Directory);
        }
        for (target, source) in plan.stdio.into_iter().enumerate() {
            if libc::dup2(source, target as c_int) < 0 {
                return failed(Stage::Setup);
            }
        }
        plan.ledger.add(libc::getpid(), plan.run);
        // Ours are closed at exec anyway; this is for descriptors that a host program left open. It takes the writing
        // end of the guardian's pipe, so it comes after the run is listed.
        close_from(3);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(plan.path.as_ptr(), plan.argv, plan.envp);
        failed(Stage::Exec)
    }
}

/// Gives every signal its default action: ignored ones would stay so in the program, and handlers must not run here.
fn reset_handlers() {
    // The kernel's own layout, which is all zero for the default action, and its call: the C library keeps some signals
    // to itself.
    let default = [0u64; 4];
    let mut signal = 1;
    while signal <= 64 {
        // SAFETY: sets this process's own table; the two signals that may not be changed are refused.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), ptr::null_mut::<c_void>(), 8) };
        signal += 1;
    }
}

fn failed(stage: Stage) -> Failure {
    // SAFETY: the thread's own error number, which the waiting thread shares.
    Failure { stage, errno: unsafe { *libc::__errno_location() } }
}
