use crate::prelude::*;

check! {
    /// DESTROY_CLIENTID of a client with a session is CLIENTID_BUSY; without one it succeeds, once.
    306, "RFC 8881 §18.50"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let (outside, id) = (&client.outside, client.exchanged.client);
    outside.call([op::destroy_client(id)])?.fails(Status::CLIENTID_BUSY)?;
    outside.call([Operation::DestroySession(client.session())])?.ok()?;
    outside.call([op::destroy_client(id)])?.ok()?;
    outside.call([op::destroy_client(id)])?.fails(Status::STALE_CLIENTID)?.done()
}
