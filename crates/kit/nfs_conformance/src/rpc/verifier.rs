use crate::prelude::*;
use crate::wire::{AUTH_NONE, AUTH_SYS, RpcCall, auth_sys};

check! {
    /// AUTH_SYS with a verifier other than an empty AUTH_NONE is denied with AUTH_BADVERF.
    23, "RFC 5531 appendix A"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let call = RpcCall::null(7, 4).credential(AUTH_SYS, auth_sys(b"kit", 0, &[]));
    let mut wire = bench.wire()?;
    for verifier in [(AUTH_SYS, Vec::new()), (AUTH_NONE, vec![0; 4])] {
        wire.call(&RpcCall { verifier, ..call.clone() })?.auth_error(3)?;
    }
    wire.expect_alive(8)
}
