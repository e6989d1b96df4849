use crate::prelude::*;
use crate::wire::{AUTH_SYS, RpcCall, auth_sys};

check! {
    /// A credential with 17 groups is denied with AUTH_BADCRED.
    20, "RFC 5531 appendix A"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let groups: Vec<_> = (1..=17).collect();
    let call = RpcCall::null(7, 4).credential(AUTH_SYS, auth_sys(b"kit", 0, &groups));
    let mut wire = bench.wire()?;
    wire.call(&call)?.auth_error(1)?;
    wire.expect_alive(8)
}
