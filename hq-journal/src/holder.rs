use std::fmt;

/// A process that has a journal open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Name of its machine.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// Its user id.
    pub uid: u32,
}

impl Holder {
    /// This process.
    pub fn this_process() -> Self {
        Self {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            pid: std::process::id(),
            uid: rustix::process::geteuid().as_raw(),
        }
    }
}

/// `process 17 of user 1000 on host n1`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of user {} on host {}", self.pid, self.uid, self.host)
    }
}
