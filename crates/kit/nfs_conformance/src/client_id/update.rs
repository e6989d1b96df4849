use crate::client::exchange_id;
use crate::credential::user;
use crate::prelude::*;
use nfs::v4::session::exchange_id as flag;

check! {
    /// UPD_CONFIRMED_REC_A: NOENT without a record, NOT_SAME with another verifier, PERM for another
    /// principal, else the record with CONFIRMED_R.
    253, "RFC 8881 §18.35.4 cases 6 to 9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let update = |owner: &[u8], verifier| exchange_id(owner, verifier, flag::UPDATE_CONFIRMED_RECORD);
    let unknown = bench.owner();
    client.outside.call([update(&unknown, [1; 8])])?.fails(Status::NOENT)?;
    client.outside.call([update(&client.owner, [2; 8])])?.fails(Status::NOT_SAME)?;
    let other = client.with_credential(user(1000));
    other.outside.call([update(&client.owner, client.verifier)])?.fails(Status::PERM)?;
    let found = client.outside.exchange(&client.owner, client.verifier, flag::UPDATE_CONFIRMED_RECORD)?;
    expect_equal("CONFIRMED_R", found.flags & flag::CONFIRMED, flag::CONFIRMED)?;
    expect_equal("client id", found.client, client.exchanged.client)
}
