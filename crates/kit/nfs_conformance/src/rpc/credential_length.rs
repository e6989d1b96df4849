use crate::prelude::*;
use crate::wire::{AUTH_SYS, RpcCall, auth_sys};

check! {
    /// A credential of more than 400 bytes is denied with AUTH_BADCRED.
    25, "RFC 5531 §8.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut body = auth_sys(b"kit", 0, &[]);
    body.resize(404, 0);
    let mut wire = bench.wire()?;
    wire.call(&RpcCall::null(7, 4).credential(AUTH_SYS, body))?.auth_error(1)?;
    wire.expect_alive(8)
}
