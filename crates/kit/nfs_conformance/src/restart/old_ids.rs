use crate::prelude::*;

check! {
    /// Client ids, sessions and stateids of before a restart are STALE_CLIENTID, BADSESSION and BAD_STATEID.
    750, "RFC 8881 §8.4.2.1", needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    bench.restart(Remembered::Nobody)?;
    let outside = client.outside.reconnect()?;
    let sequence = client.sequence(0, client.next(0), false);
    outside.call([Operation::Sequence(sequence)])?.fails(Status::BADSESSION)?;
    let old = crate::client::create_session(client.exchanged.client, client.exchanged.sequence.wrapping_add(1));
    outside.call([old])?.fails(Status::STALE_CLIENTID)?;
    let mut again = bench.come_back(&client)?;
    again.call([op::reclaim_complete(false)])?.ok()?;
    again.call([op::put(&file.handle), op::read(&file.stateid, 0, 1)])?.fails(Status::BAD_STATEID)?;
    again.call([op::put(&file.handle), op::close(&file.stateid)])?.fails(Status::BAD_STATEID)?.done()
}
