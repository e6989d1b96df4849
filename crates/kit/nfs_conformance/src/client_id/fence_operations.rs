use crate::client::exchange_id;
use crate::prelude::*;

check! {
    /// SUPP_FENCE_OPS is accepted in minor version 2, and INVAL in minor version 1.
    244, "RFC 7862 §14.1", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut outside = bench.outside()?;
    let owner = bench.owner();
    outside.exchange(&owner, [1; 8], 4)?;
    outside.minor = 1;
    let owner = bench.owner();
    outside.call([exchange_id(&owner, [1; 8], 4)])?.fails(Status::INVAL)?.done()
}
