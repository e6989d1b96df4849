//! Interface to the C library's allocator, which returns free memory to the system only when asked;
//! and an allocator for tests that counts.

/// Returns free memory of the process to the operating system. With glibc this walks every arena,
/// which takes some milliseconds for a hundred mebibytes, and holds each arena's lock meanwhile.
/// With other libraries it does nothing.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim(3) has no safe wrapper")]
    // SAFETY: malloc_trim may be called at any time from any thread, and changes no allocated
    // memory.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Allocator of the system that counts the allocations of each thread, for tests that bound them.
#[cfg(feature = "testing")]
#[derive(Debug)]
pub struct CountingAllocator;

#[cfg(feature = "testing")]
mod counting {
    use super::CountingAllocator;
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    }

    impl CountingAllocator {
        /// Allocations of this thread so far; a reallocation counts as one.
        pub fn allocations() -> u64 {
            ALLOCATIONS.get()
        }
    }

    fn count() {
        // A thread that ends has no counter any more.
        let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
    }

    #[expect(unsafe_code, reason = "the interface of an allocator is unsafe")]
    // SAFETY: every call is passed on unchanged to the allocator of the system, which keeps the
    // contract. Counting does not allocate.
    unsafe impl GlobalAlloc for CountingAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count();
            // SAFETY: the caller keeps the contract of this function, which is that of the callee.
            unsafe { System.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            count();
            // SAFETY: as above.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
            count();
            // SAFETY: as above.
            unsafe { System.realloc(pointer, layout, bytes) }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: as above.
            unsafe { System.dealloc(pointer, layout) }
        }
    }
}
