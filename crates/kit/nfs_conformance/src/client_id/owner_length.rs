use crate::client::exchange_id;
use crate::prelude::*;

check! {
    /// An owner of 1 024 bytes is accepted, one of 1 025 is BADXDR.
    258, "RFC 8881 §3.3.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let owner = bench.owner().into_iter().cycle().take(1025).collect::<Vec<_>>();
    outside.exchange(owner.get(..1024).unwrap_or_default(), [1; 8], 0)?;
    outside.call([exchange_id(&owner, [1; 8], 0)])?.fails(Status::BADXDR)?.done()
}
