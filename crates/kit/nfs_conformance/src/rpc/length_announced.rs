use crate::prelude::*;

check! {
    /// A fragment that announces 2^31 - 1 bytes ends the connection within a second.
    6, "RFC 5531 §11; Linux"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    wire.send(&[0xff; 4])?;
    wire.expect_closed(Duration::from_secs(1))
}
