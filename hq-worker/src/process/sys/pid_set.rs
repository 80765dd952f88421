use std::{
    io, ptr,
    sync::atomic::{AtomicU64, Ordering},
};

/// Linux never gives a larger process id than this less one.
pub(super) const PID_LIMIT: usize = 1 << 22;
const WORDS: usize = PID_LIMIT / 64;
const BYTES: usize = PID_LIMIT / 8;

/// A set of process ids in memory that is shared with the guardian: adding and removing is one atomic operation, also
/// from a child on its way to `execve`, and the set outlives the worker.
pub(super) struct PidSet {
    words: *const AtomicU64,
}

// SAFETY: the memory is accessed through atomics only.
unsafe impl Send for PidSet {}
// SAFETY: as above.
unsafe impl Sync for PidSet {}

impl PidSet {
    /// An empty set. Takes 512 KiB of address space and, of memory, the pages that are used.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: a new anonymous mapping; no address of ours is touched.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { words: address.cast_const().cast() })
    }

    /// Async-signal-safe.
    pub(super) fn add(&self, pid: i32) {
        if let Some((word, bit)) = self.place(pid) {
            word.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// Async-signal-safe.
    pub(super) fn remove(&self, pid: i32) {
        if let Some((word, bit)) = self.place(pid) {
            word.fetch_and(!bit, Ordering::SeqCst);
        }
    }

    /// Async-signal-safe.
    pub(super) fn contains(&self, pid: i32) -> bool {
        self.place(pid).is_some_and(|(word, bit)| word.load(Ordering::SeqCst) & bit != 0)
    }

    /// Calls `f` with each id. Async-signal-safe where `f` is.
    pub(super) fn each(&self, mut f: impl FnMut(i32)) {
        let mut index = 0;
        while index < WORDS {
            let mut word = self.word(index).load(Ordering::SeqCst);
            while word != 0 {
                f((index * 64) as i32 + word.trailing_zeros() as i32);
                word &= word - 1;
            }
            index += 1;
        }
    }

    fn place(&self, pid: i32) -> Option<(&AtomicU64, u64)> {
        let pid = pid as usize;
        // 0 and 1 would be whole other groups to `kill`.
        (pid > 1 && pid < PID_LIMIT).then(|| (self.word(pid / 64), 1 << (pid % 64)))
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < WORDS);
        // SAFETY: the mapping has `WORDS` words, zeroed, aligned to a page, and lives as long as `self`.
        unsafe { &*self.words.add(index) }
    }
}

impl Drop for PidSet {
    fn drop(&mut self) {
        // SAFETY: this is our mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.words.cast_mut().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_ids() {
        let table = PidSet::new().unwrap();
        for pid in [7, 64, 4_194_303, -1, 0, 1, 4_194_304, i32::MIN] {
            table.add(pid);
        }
        table.add(65);
        table.remove(65);
        table.remove(66);
        assert!(table.contains(64) && !table.contains(65) && !table.contains(0) && !table.contains(i32::MAX));
        let mut seen = vec![];
        table.each(|pid| seen.push(pid));
        assert_eq!(seen, [7, 64, 4_194_303]);
    }
}
