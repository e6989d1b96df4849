use crate::prelude::*;

check! {
    /// A request above the granted size is REQ_TOO_BIG, before its names are looked at.
    293, "RFC 8881 §2.10.6.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let mut client = Client::begin_with(bench.outside()?, &owner, |arguments| {
        arguments.fore_channel.max_request_bytes = 512;
    })?;
    if client.created.fore_channel.max_request_bytes > 512 {
        return failed("request size: expected at most 512 bytes, found more");
    }
    client.call([op::put_root(), op::lookup([b'n'; 600])])?.fails_at(0, &[Status::REQ_TOO_BIG])?.done()
}
