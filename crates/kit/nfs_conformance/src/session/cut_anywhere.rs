use crate::prelude::*;
use crate::wire::{RpcCall, fragment};
use nfs::v4::compound::CompoundOperation;

check! {
    /// A call that is cut at any byte and repeated on a new connection takes effect once.
    319, "RFC 8881 §2.10.6.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let mut length = usize::MAX;
    let mut cut = 0;
    while cut <= length {
        let sequence = client.sequence(1, client.next(1), true);
        let operations = [
            Operation::Sequence(sequence),
            op::put(&file.handle),
            op::save(),
            op::put(&directory),
            op::link(format!("{cut:04}")),
        ];
        let call = RpcCall::compound(7, |writer| {
            writer.opaque(b"");
            writer.u32(client.outside.minor);
            writer.u32(5);
            operations.iter().for_each(|operation| operation.encode(writer));
        });
        let record = fragment(&call.bytes(), true);
        length = record.len();
        let mut wire = bench.wire()?;
        wire.send(record.get(..cut).unwrap_or(&record))?;
        drop(wire);
        loop {
            let reply = client.outside.call(operations.clone())?;
            if reply.status() != Err(Status::DELAY) {
                reply.ok()?;
                break;
            }
            bench.pause(Duration::from_millis(10))?;
        }
        client.advance(1);
        cut += 7;
    }
    let links = client.facts(&file.handle)?.links as usize;
    expect_equal("links", links, client.names(&directory)?.len())?;
    expect_equal("links", links, cut / 7 + 1)
}
