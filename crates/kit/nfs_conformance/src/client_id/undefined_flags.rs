use crate::client::exchange_id;
use crate::prelude::*;

check! {
    /// An undefined flag, and CONFIRMED_R in a request, are INVAL.
    243, "RFC 8881 §18.35.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for flags in [0x8, 0x8000_0000] {
        let owner = bench.owner();
        outside.call([exchange_id(&owner, [1; 8], flags)])?.fails(Status::INVAL)?;
    }
    Ok(())
}
