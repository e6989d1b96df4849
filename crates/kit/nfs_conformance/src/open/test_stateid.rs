use crate::prelude::*;

check! {
    /// TEST_STATEID says OK of an open and BAD_STATEID of a closed and of a special one; FREE_STATEID of an open
    /// is LOCKS_HELD.
    472, "RFC 8881 §18.38, §18.48"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let [one, two] = [client.create(&directory, "f")?, client.create(&directory, "g")?];
    client.close(&two)?;
    let stateids = vec![one.stateid, two.stateid, Stateid::ANONYMOUS];
    let reply = client.call([Operation::TestStateid(stateids.into())])?.ok()?;
    let bad = Err(Status::BAD_STATEID);
    expect_equal("statuses", take!(reply.last()?, Outcome::TestStateid).0, vec![Ok(()), bad, bad])?;
    client.call([Operation::FreeStateid(one.stateid)])?.fails(Status::LOCKS_HELD)?.done()
}
