use crate::prelude::*;
use crate::wire::{Received, RpcCall};
use nfs::v4::compound::CompoundOperation;

check! {
    /// A client that stops reading while 64 READs of 1 MiB are answered does not hold up others, and gets all
    /// replies when it reads on.
    36, "RFC 8881 §2.9.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(1 << 20);
    let file = client.create_with(&directory, "f", &content)?;
    let owner = bench.owner();
    let slow = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.fore_channel.max_requests = 64)?;
    slow.clone().call([op::reclaim_complete(false)])?.ok()?;
    let slots = slow.created.fore_channel.max_requests;
    let mut wire = bench.wire()?;
    for slot in 0..slots {
        let sequence = slow.sequence(slot, if slot == 0 { 2 } else { 1 }, false);
        let call = RpcCall::compound(slot, |writer| {
            writer.opaque(b"");
            writer.u32(slow.outside.minor);
            writer.u32(3);
            Operation::Sequence(sequence).encode(writer);
            op::put(&file.handle).encode(writer);
            op::read(&Stateid::ANONYMOUS, 0, 1 << 20).encode(writer);
        });
        wire.send_record(&call.bytes())?;
    }
    bench.pause(Duration::from_millis(500))?;
    for _ in 0..10 {
        let started = Instant::now();
        client.expect_content(&file.handle, &content)?;
        expect(started.elapsed() < Duration::from_secs(2), || "another client waited for more than 2 s".into())?;
    }
    for done in 0..slots {
        match wire.receive()? {
            Received::Record(_) => {}
            found => return failed(format!("expected {slots} replies, found {done} and {found:?}")),
        }
    }
    Ok(())
}
