//! Interface to the C library's allocator, which returns free memory to the system only when asked.

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
