//! The C library's allocator: free memory goes back to the system when asked.

/// Returns free memory of the process to the operating system. With glibc this walks every arena, some milliseconds for a
/// hundred mebibytes, and holds the lock of each meanwhile. Elsewhere it does nothing.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim(3) has no safe wrapper")]
    // SAFETY: it may be called at any time from any thread, and changes no memory that is allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}
