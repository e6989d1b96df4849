use crate::prelude::*;
use crate::wire::{RpcCall, fragment};

check! {
    /// A record that pauses for 30 s in its middle is served.
    33, "RFC 5531 §11", needs: [Thorough]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let bytes = fragment(&RpcCall::null(7, 4).bytes(), true);
    let (start, rest) = bytes.split_at(20);
    let mut wire = bench.wire()?;
    wire.send(start)?;
    for _ in 0..30 {
        bench.pause(Duration::from_secs(1))?;
    }
    wire.send(rest)?;
    wire.reply(7)?.success().map(drop)
}
