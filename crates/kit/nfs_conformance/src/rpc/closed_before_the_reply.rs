use crate::prelude::*;
use crate::wire::RpcCall;
use nfs::v4::compound::CompoundOperation;

check! {
    /// A WRITE whose client closes the connection takes effect as a whole or not at all, and its repetition
    /// on another connection succeeds.
    35, "RFC 8881 §2.9.2, §2.10.6"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let old = bench.content(64 << 10);
    let new = bench.content(64 << 10);
    for _ in 0..8 {
        let file = client.create_with(&directory, "f", &old)?;
        let sequence = client.sequence(1, client.next(1), true);
        let operations = [op::put(&file.handle), op::write(&file.stateid, 0, Stable::FileSync, &new)];
        let call = RpcCall::compound(7, |writer| {
            writer.opaque(b"");
            writer.u32(client.outside.minor);
            writer.u32(3);
            Operation::Sequence(sequence.clone()).encode(writer);
            operations.iter().for_each(|operation| operation.encode(writer));
        });
        let mut wire = bench.wire()?;
        wire.send_record(&call.bytes())?;
        drop(wire);
        let content = client.content(&file.handle)?;
        expect(content == old || content == new, || "content: expected the old or the new one, found neither".into())?;
        repeat(bench, &client, &sequence, &operations)?;
        client.advance(1);
        client.expect_content(&file.handle, &new)?;
        client.close(&file)?;
    }
    Ok(())
}

/// Repeats a call; as long as the first is running, the server may ask for patience.
fn repeat(
    bench: &Bench<'_>,
    client: &Client,
    sequence: &nfs::v4::session::SequenceArguments,
    operations: &[Operation],
) -> Verdict {
    loop {
        let reply = client.send(sequence.clone(), operations.to_vec())?;
        if reply.status() != Err(Status::DELAY) {
            return reply.ok().map(drop);
        }
        bench.pause(Duration::from_millis(20))?;
    }
}
