//! Counts the bytes that a thread asks the allocator for, for tests that hold what a step costs.

#![expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; this one hands everything on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Returns how many bytes this thread has requested so far, including the whole new size of a grown allocation.
pub(crate) fn bytes() -> u64 {
    BYTES.get()
}

fn note(size: usize) {
    // A thread that ends has no count any more.
    let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + size as u64));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}
