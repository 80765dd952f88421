use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::sys::Process;

/// Lets the group act on a wish to end.
pub(super) fn interrupt(group: i32) {
    signal(group, Signal::INT);
}

/// Kills the group, its leader with it. The leader must not have been reaped, so that its number is still its own.
pub(super) fn kill_group(group: i32) {
    signal(group, Signal::KILL);
}

fn signal(group: i32, signal: Signal) {
    // An error means that nobody is left, or that what is left is not ours to signal (setuid).
    if let Some(pid) = Pid::from_raw(group).filter(|_| group > 1) {
        let _ = kill_process_group(pid, signal);
    }
}

/// Kills a process that was seen a moment ago, and no other that has got its number meanwhile.
pub(super) fn kill(seen: &Process) {
    let Some(pid) = Pid::from_raw(seen.pid).filter(|_| seen.pid > 1) else { return };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if Process::find(seen.pid).is_some_and(|now| now.start == seen.start) {
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    }
}
