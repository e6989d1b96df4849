use crate::prelude::*;
use nfs::v4::session::exchange_id as flag;

check! {
    /// The same owner with the same verifier, once confirmed, has the same client id and CONFIRMED_R.
    247, "RFC 8881 §18.35.4 case 2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let again = client.outside.exchange(&client.owner, client.verifier, 0)?;
    expect_equal("client id", again.client, client.exchanged.client)?;
    expect_equal("CONFIRMED_R", again.flags & flag::CONFIRMED, flag::CONFIRMED)
}
