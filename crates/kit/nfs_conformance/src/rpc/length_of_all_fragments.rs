use crate::prelude::*;
use crate::wire::fragment;

check! {
    /// Fragments that together are longer than any message end the connection.
    7, "RFC 5531 §11; Linux"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    let piece = fragment(&vec![0; 1 << 20], false);
    for _ in 0..64 {
        // The connection is closed when it takes no more.
        if wire.send(&piece).is_err() {
            return Ok(());
        }
    }
    wire.expect_closed(Duration::from_secs(1))
}
