use std::{
    fmt::Write as _,
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::rand::{GetRandomFlags, getrandom};

use super::StringTable;

/// The variable by which the processes of a run are known.
pub(crate) const RUN_KEY: &str = "HQ_RUN_KEY";

/// What sets the processes of a worker's runs apart from all others: a text of chance in their environment.
///
/// The variable is `MARK.RUN`. Where the worker is itself a task, it comes behind the key of that, so that its tasks
/// are known as parts of both: `OUTER-MARK.RUN/MARK.RUN`.
#[derive(Debug)]
pub(crate) struct Mark {
    text: String,
    /// The whole variable, less the number.
    prefix: Vec<u8>,
    next: AtomicU64,
}

impl Mark {
    /// A new one; `outer` is the key of the run that this worker is part of.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn new(outer: Option<&[u8]>) -> io::Result<Self> {
        let mut bytes = [0u8; 16];
        // As few as these come at once or not at all.
        if getrandom(&mut bytes, GetRandomFlags::empty())? != bytes.len() {
            return Err(io::Error::other("too few random bytes"));
        }
        let mut text = String::with_capacity(33);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('.');
        let mut prefix = format!("{RUN_KEY}=").into_bytes();
        if let Some(outer) = outer.filter(|outer| !outer.is_empty()) {
            prefix.extend_from_slice(outer);
            prefix.push(b'/');
        }
        prefix.extend_from_slice(text.as_bytes());
        Ok(Self { text, prefix, next: AtomicU64::new(0) })
    }

    /// What stands before the number of a run.
    pub(crate) fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// A number for another run.
    pub(super) fn next_run(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The variable of a run.
    pub(super) fn variable(&self, run: u64) -> StringTable {
        let mut table = StringTable::default();
        let pushed = table.push(&[&self.prefix, run.to_string().as_bytes()]);
        debug_assert!(pushed.is_ok(), "variables of ours hold no zero byte");
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let outer = Mark::new(None).unwrap();
        let inner = Mark::new(Some(b"0abc.17")).unwrap();
        assert_ne!(outer.text(), inner.text());
        let text = |mark: &Mark| String::from_utf8(mark.text().to_vec()).unwrap();
        assert_eq!(text(&outer).len(), 33);
        assert_eq!((outer.next_run(), outer.next_run()), (0, 1));
        let variable = |mark: &Mark| String::from_utf8(mark.variable(5).into_bytes()).unwrap();
        assert_eq!(variable(&outer), format!("HQ_RUN_KEY={}5\0", text(&outer)));
        assert_eq!(variable(&inner), format!("HQ_RUN_KEY=0abc.17/{}5\0", text(&inner)));
    }
}
