use crate::client::create_session;
use crate::prelude::*;

check! {
    /// A second EXCHANGE_ID replaces an unconfirmed one: the first client id is STALE_CLIENTID.
    252, "RFC 8881 §18.35.4 case 4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let owner = bench.owner();
    let first = outside.exchange(&owner, [1; 8], 0)?;
    let second = outside.exchange(&owner, [2; 8], 0)?;
    outside.call([create_session(first.client, first.sequence)])?.fails(Status::STALE_CLIENTID)?;
    outside.create(second.client, second.sequence).map(drop)
}
