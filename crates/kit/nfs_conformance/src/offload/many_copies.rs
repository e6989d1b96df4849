use super::asynchronous::{begin, copy};
use crate::prelude::*;

/// More copies than a server takes of one client.
const MANY: usize = 65;

check! {
    /// Copies beyond what the server takes of a client are OFFLOAD_DENIED.
    662, "RFC 7862 §15.2"; choice, needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    // Without a back channel the copies stay, also when they have ended.
    let mut client = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.flags = 0)?;
    client.call([op::reclaim_complete(false)])?.ok()?;
    let directory = bench.directory(&mut client)?;
    let first = begin(bench, &mut client, &directory)?;
    let (source, target) = (&first.source, &first.target);
    for _ in 1..MANY {
        let call = [op::put(&source.handle), op::save(), op::put(&target.handle), copy(source, target)];
        let reply = client.call(call)?;
        if reply.status() == Err(Status::OFFLOAD_DENIED) {
            return Ok(());
        }
        reply.ok()?;
    }
    differs(format!("expected OFFLOAD_DENIED at last, found {MANY} copies"))
}
