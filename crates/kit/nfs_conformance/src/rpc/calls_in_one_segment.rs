use crate::prelude::*;
use crate::wire::{Received, RpcCall, fragment};
use nfs::v4::compound::CompoundOperation;

check! {
    /// Calls of all slots that arrive in one piece are all answered on this connection.
    5, "RFC 8881 §2.9.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let client = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.fore_channel.max_requests = 64)?;
    let slots = client.created.fore_channel.max_requests;
    let mut bytes = Vec::new();
    for slot in 0..slots {
        let call = RpcCall::compound(slot, |writer| {
            writer.opaque(b"");
            writer.u32(client.outside.minor);
            writer.u32(1);
            Operation::Sequence(client.sequence(slot, 1, false)).encode(writer);
        });
        bytes.extend(fragment(&call.bytes(), true));
    }
    let mut wire = bench.wire()?;
    wire.send(&bytes)?;
    let mut open: std::collections::BTreeSet<_> = (0..slots).collect();
    while !open.is_empty() {
        let Received::Record(record) = wire.receive()? else {
            return failed(format!("expected {slots} replies, found {}", slots as usize - open.len()));
        };
        let xid = record.first_chunk().map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes));
        expect(open.remove(&xid), || format!("a reply to no call: {xid:#x}"))?;
        // xid, type, accepted, verifier of two words, status: then the status of the compound.
        expect_bytes("status", record.get(20..28).unwrap_or_default(), &[0; 8])?;
    }
    Ok(())
}
