use crate::client::exchange_id;
use crate::credential::user;
use crate::prelude::*;

check! {
    /// The owner of a client with state is CLID_INUSE for another principal.
    250, "RFC 8881 §18.35.4 case 3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.create(&directory, "f")?;
    let other = client.with_credential(user(1000));
    other.outside.call([exchange_id(&client.owner, [9; 8], 0)])?.fails(Status::CLID_INUSE)?;
    client.renew().map(drop)
}
