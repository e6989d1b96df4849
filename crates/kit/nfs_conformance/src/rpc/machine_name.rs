use crate::prelude::*;
use crate::wire::{AUTH_SYS, RpcCall, auth_sys};

check! {
    /// A machine name of 255 bytes is accepted; one of 256 bytes and a credential that ends early are
    /// AUTH_BADCRED.
    21, "RFC 5531 appendix A"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    let call = |body| RpcCall::null(7, 4).credential(AUTH_SYS, body);
    wire.call(&call(auth_sys(&[b'm'; 255], 0, &[])))?.success()?;
    let whole = auth_sys(b"kit", 0, &[1, 2]);
    let cut = whole.get(..whole.len() - 4).unwrap_or_default().to_vec();
    wire.call(&call(cut))?.auth_error(1)?;
    wire.call(&call(auth_sys(&[b'm'; 256], 0, &[])))?.auth_error(1)?;
    wire.expect_alive(8)
}
