use super::{hold, reclaim};
use crate::client::create_session;
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A client that restarts in the grace period has nothing to reclaim any more.
    759, "RFC 8881 §8.4.2.1", needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    hold(&mut client, &file, share_access::BOTH, share_deny::BOTH)?;
    bench.restart(Remembered::Recorded)?;
    let first = bench.come_back(&client)?;
    let outside = first.outside.reconnect()?;
    let exchanged = outside.exchange(&client.owner, [2; 8], 0)?;
    let reply = outside.call([create_session(exchanged.client, exchanged.sequence)])?.ok()?;
    let created = *take!(reply.last()?, Outcome::CreateSession);
    let mut again = first.another_session(created);
    (again.outside, again.verifier, again.exchanged) = (outside, [2; 8], exchanged);
    let reply = again.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::BOTH)])?;
    reply.fails_with(&[Status::RECLAIM_BAD, Status::NO_GRACE])?;
    again.call([op::reclaim_complete(false)])?.ok()?.done()
}
