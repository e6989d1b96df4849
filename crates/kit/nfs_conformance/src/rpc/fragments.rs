use crate::prelude::*;
use crate::wire::{RpcCall, RpcReply, fragment};

check! {
    /// A call in three fragments is answered as one in a single fragment, also with an empty one between.
    2, "RFC 5531 §11"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let message = RpcCall::null(7, 4).bytes();
    let (head, tail) = message.split_at(4);
    let (middle, tail) = tail.split_at(8);
    let mut wire = bench.wire()?;
    wire.send(&[fragment(head, false), fragment(middle, false), fragment(tail, true)].concat())?;
    wire.reply(7)?.success()?;
    let mut wire = bench.wire()?;
    wire.send(&[fragment(head, false), fragment(&[], false), fragment(middle, false), fragment(tail, true)].concat())?;
    match wire.reply(7).and_then(RpcReply::success) {
        Ok(_) => Ok(()),
        Err(reason) => differs(format!("with an empty fragment: {reason}")),
    }
}
