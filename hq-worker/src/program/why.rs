use std::io;

/// Why a program was not started.
#[derive(Debug)]
pub(super) struct Why {
    /// For people.
    pub(super) text: String,
    /// The worker had no process, descriptor or memory left: that passes, and is no fault of the task.
    pub(super) is_lack: bool,
}

impl Why {
    /// What the system refused.
    pub(super) fn of_io(text: String, error: &io::Error) -> Self {
        Self { text, is_lack: error.raw_os_error().is_some_and(is_lack) }
    }

    /// The same by the system's number of the reason.
    pub(super) const fn of_errno(text: String, errno: i32) -> Self {
        Self { text, is_lack: is_lack(errno) }
    }
}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self { text, is_lack: false }
    }
}

const fn is_lack(errno: i32) -> bool {
    matches!(errno, libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE)
}
