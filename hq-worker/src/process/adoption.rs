use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{child_subreaper, getpid, set_child_subreaper};

/// While there is one, orphans among the descendants of this process become its children instead of init's: they stay
/// in sight, and they have to be reaped.
///
/// This is a property of the process, which the kernel keeps; so it is counted per process who needs it.
#[derive(Debug)]
pub(super) struct Adoption(());

#[derive(Debug, Default)]
struct Holders {
    count: usize,
    /// The host of this process had it before us.
    is_hosts: bool,
}

static HOLDERS: Mutex<Holders> = Mutex::new(Holders { count: 0, is_hosts: false });

fn holders() -> MutexGuard<'static, Holders> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Adoption {
    /// Begins, if it has not begun.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn begin() -> io::Result<Self> {
        let mut holders = holders();
        if holders.count == 0 {
            holders.is_hosts = child_subreaper()?.is_some();
            set_child_subreaper(Some(getpid()))?;
        }
        holders.count += 1;
        Ok(Self(()))
    }

    /// Whether nobody else in this process starts tasks, so that a child that is not known is an orphan or the host's.
    pub(super) fn is_alone() -> bool {
        holders().count == 1
    }
}

impl Drop for Adoption {
    fn drop(&mut self) {
        let mut holders = holders();
        holders.count -= 1;
        if holders.count == 0 && !holders.is_hosts {
            let _ = set_child_subreaper(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasts_as_long_as_somebody_needs_it() {
        let is_on = || child_subreaper().unwrap().is_some();
        assert!(!is_on());
        let first = Adoption::begin().unwrap();
        assert!(is_on() && Adoption::is_alone());
        let second = Adoption::begin().unwrap();
        assert!(!Adoption::is_alone());
        drop(first);
        assert!(is_on() && Adoption::is_alone());
        drop(second);
        assert!(!is_on());
    }
}
