use super::asynchronous::{begin, listen};
use crate::prelude::*;

check! {
    /// The callback of a copy refers to the COPY by session, slot and sequence id.
    659, "RFC 8881 §2.10.6.3"; choice, needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let called = listen(&client);
    let copy = begin(bench, &mut client, &directory)?;
    let (sequence, _) = copy.callback(bench, &called)?;
    let calls = sequence.referring.iter().filter(|calls| calls.session == client.session());
    let named = calls.flat_map(|calls| calls.calls.iter()).any(|call| (call.slot, call.sequence) == (0, copy.sequence));
    if named { Ok(()) } else { differs(format!("expected the COPY, found {:?}", sequence.referring)) }
}
