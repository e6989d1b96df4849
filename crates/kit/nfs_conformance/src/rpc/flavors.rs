use crate::prelude::*;
use crate::wire::{RpcCall, RpcReply};

/// Expects a denial with AUTH_BADCRED. Some servers say AUTH_REJECTEDCRED or AUTH_TOOWEAK.
fn refused(reply: RpcReply) -> Verdict {
    match reply {
        RpcReply::Denied(1, status) if status == [2] || status == [5] => {
            differs(format!("expected AUTH_BADCRED, found {status:?}"))
        }
        reply => reply.auth_error(1),
    }
}

checks! {
    GSS:
    /// A damaged credential of RPCSEC_GSS and an unknown flavor are denied with AUTH_BADCRED.
    26 "rpc/flavors", "RFC 5531 §9", |bench| {
        let mut wire = bench.wire()?;
        refused(wire.call(&RpcCall::null(7, 4).credential(99, Vec::new()))?)?;
        refused(wire.call(&RpcCall::null(8, 4).credential(6, Vec::new()))?)?;
        wire.expect_alive(9)
    };
    TLS:
    /// The probe for TLS is answered with an empty verifier where there is no TLS.
    27 "rpc/tls_probe", "RFC 9289 §4.1", |bench| {
        match bench.wire()?.call(&RpcCall::null(7, 4).credential(7, Vec::new()))? {
            // A server that does not know the flavor at all.
            RpcReply::Denied(1, status) => differs(format!("expected SUCCESS, found a denial with {status:?}")),
            reply => reply.success().map(drop),
        }
    };
    TLS_ELSEWHERE:
    /// The flavor of the probe for TLS is AUTH_BADCRED in other procedures than NULL.
    28 "rpc/tls_elsewhere", "RFC 9289 §4.1", |bench| {
        let call = RpcCall::compound(7, |writer| [0, 1, 0].iter().for_each(|word| writer.u32(*word)));
        let mut wire = bench.wire()?;
        refused(wire.call(&call.credential(7, Vec::new()))?)?;
        wire.expect_alive(8)
    };
}
