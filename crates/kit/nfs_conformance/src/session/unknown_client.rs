use crate::client::create_session;
use crate::prelude::*;

check! {
    /// CREATE_SESSION of an unknown client id is STALE_CLIENTID.
    261, "RFC 8881 §18.36"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.outside()?.call([create_session(0x0bad_0bad_0bad_0bad, 1)])?.fails(Status::STALE_CLIENTID)?.done()
}
