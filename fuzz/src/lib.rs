//! What all fuzz programs have in common: the limits of an input.

/// Memory that one input may take, in bytes, beyond what was in use before.
const INPUT_BYTES: usize = 256 << 20;

/// Counts what is allocated, and refuses above a limit: the process then aborts, and libFuzzer keeps the input.
#[global_allocator]
static MEMORY: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

/// One input.
pub fn one(name: &str, input: &[u8]) {
    let target = fuzz_targets::target(name).unwrap_or_else(|| panic!("there is no target {name}"));
    if input.len() > target.max_bytes {
        return;
    }
    // The limit is never below what is in use, so neither call can fail.
    let _limited = MEMORY.set_limit(MEMORY.allocated().saturating_add(INPUT_BYTES));
    (target.run)(input);
    let _unlimited = MEMORY.set_limit(usize::MAX);
}

/// A fuzz program for the target of that name.
#[macro_export]
macro_rules! program {
    ($name:literal) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::one($name, input));
    };
}
