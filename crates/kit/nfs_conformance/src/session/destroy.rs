use crate::prelude::*;

check! {
    /// DESTROY_SESSION, also from another connection, ends the session and leaves the client id.
    303, "RFC 8881 §18.37"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let reply = client.outside.reconnect()?.call([Operation::DestroySession(client.session())])?;
    if reply.status() == Err(Status::CONN_NOT_BOUND_TO_SESSION) {
        return differs("from another connection: expected NFS4_OK, found CONN_NOT_BOUND_TO_SESSION");
    }
    reply.ok()?;
    client.call([])?.fails_at(0, &[Status::BADSESSION])?;
    let created = client.outside.create(client.exchanged.client, client.exchanged.sequence.wrapping_add(1))?;
    client.another_session(created).renew().map(drop)
}
