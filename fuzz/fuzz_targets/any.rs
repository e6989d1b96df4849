//! Every target in one program, which the environment chooses from: `cargo xtask fuzz` then links once.
#![no_main]

use std::sync::LazyLock;

/// Name of the target to run.
static NAME: LazyLock<String> =
    LazyLock::new(|| std::env::var("WINDLASS_FUZZ_TARGET").expect("WINDLASS_FUZZ_TARGET names no target"));

libfuzzer_sys::fuzz_target!(|input: &[u8]| windlass_fuzz::one(&NAME, input));
