use crate::prelude::*;
use crate::wire::{RpcCall, fragment};
use nfs::v4::compound::CompoundOperation;

check! {
    /// A reset in the middle of a record ends the connection only: the session works on another one.
    37, "RFC 8881 §2.10.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let call = RpcCall::compound(7, |writer| {
        writer.opaque(b"");
        writer.u32(client.outside.minor);
        writer.u32(1);
        Operation::Sequence(client.sequence(1, 1, false)).encode(writer);
    });
    let record = fragment(&call.bytes(), true);
    let mut wire = bench.wire()?;
    wire.send(record.get(..record.len() / 2).unwrap_or_default())?;
    wire.reset()?;
    client.renew().map(drop)
}
