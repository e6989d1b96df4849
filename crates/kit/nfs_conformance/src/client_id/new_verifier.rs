use crate::prelude::*;

check! {
    /// A new verifier of a confirmed owner gives a new client id; the old session works until the new one is
    /// confirmed, and then it and its opens are gone.
    248, "RFC 8881 §18.35.4 case 5"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let again = client.outside.exchange(&client.owner, [2; 8], 0)?;
    expect(again.client != client.exchanged.client, || "client id: expected another one, found the same".into())?;
    expect_equal("CONFIRMED_R", again.flags >> 31, 0)?;
    client.renew()?;
    client.outside.create(again.client, again.sequence)?;
    client.call([])?.fails_at(0, &[Status::BADSESSION])?.done()
}
