use crate::prelude::*;

check! {
    /// A reply above the session's limit is REP_TOO_BIG at the operation that exceeds it, and one above the
    /// cached size is REP_TOO_BIG_TO_CACHE; results before it stay.
    222, "RFC 8881 §2.10.6.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let mut client = Client::begin_with(bench.outside()?, &owner, |arguments| {
        arguments.fore_channel.max_response_bytes = 800;
        arguments.fore_channel.max_cached_response_bytes = 400;
    })?;
    client.call([op::reclaim_complete(false)])?.ok()?;
    let limits = client.created.fore_channel.clone();
    let operations =
        |count| std::iter::once(op::put_root()).chain((0..count).map(|_| op::attributes(&[0, 1, 3, 8, 20])));
    let mut fitted = 0;
    for count in 1..14 {
        for (keep, limit, status) in [
            (false, limits.max_response_bytes, Status::REP_TOO_BIG),
            (true, limits.max_cached_response_bytes, Status::REP_TOO_BIG_TO_CACHE),
        ] {
            let reply = client.call_in(0, keep, operations(count))?;
            match reply.status() {
                // The limit includes the header of RPC: 24 bytes.
                Ok(()) => {
                    let length = reply.bytes.len() + 24;
                    expect(length <= limit as usize, || {
                        format!("reply: expected at most {limit} bytes, found {length}")
                    })?;
                    fitted += 1;
                }
                Err(_) => drop(reply.fails_somewhere(&[status, Status::REP_TOO_BIG])?),
            }
        }
    }
    expect(fitted > 0, || "no reply fits 800 bytes".into())?;
    client.call(operations(14))?.fails_somewhere(&[Status::REP_TOO_BIG])?.done()
}
