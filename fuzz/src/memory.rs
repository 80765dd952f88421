//! An allocator that knows how much each thread has taken.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator, and a count for each thread.
pub struct Counting;

thread_local! {
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The most that this thread has had at a time while `run` ran, above what it had before.
pub fn peak_of(run: impl FnOnce()) -> usize {
    let before = TAKEN.get();
    PEAK.set(before);
    run();
    PEAK.get().saturating_sub(before).max(0) as usize
}

fn count(change: isize) {
    let taken = TAKEN.get().wrapping_add(change);
    TAKEN.set(taken);
    PEAK.set(PEAK.get().max(taken));
}

#[expect(unsafe_code, reason = "an allocator is unsafe to write")]
// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}
