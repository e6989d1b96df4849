use crate::client::exchange_id;
use crate::prelude::*;

check! {
    /// EXCHANGE_ID after SEQUENCE is served.
    215, "RFC 8881 §18.35.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let owner = bench.owner();
    client.call([exchange_id(&owner, [1; 8], 0)])?.ok()?.done()
}
