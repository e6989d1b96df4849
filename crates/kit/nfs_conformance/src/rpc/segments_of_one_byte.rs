use crate::prelude::*;
use crate::wire::{RpcCall, fragment};

check! {
    /// A call whose bytes arrive one by one is answered.
    4, "RFC 5531 §11"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    for byte in fragment(&RpcCall::null(7, 4).bytes(), true) {
        wire.send(&[byte])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    wire.reply(7)?.success().map(drop)
}
