//! Counts what this thread asks the allocator for.

#![expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; this one hands everything on to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Returns the number of allocations that this thread has requested so far. A growing allocation counts again.
pub fn count() -> u64 {
    COUNT.get()
}

fn note() {
    // A thread that ends has no count any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}
