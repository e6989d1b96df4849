use super::asynchronous::begin;
use crate::prelude::*;

check! {
    /// A COPY that goes on has a stateid with a sequence id, and says that it is not synchronous.
    657, "RFC 7862 §15.2", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let copy = begin(bench, &mut client, &directory)?;
    expect(copy.stateid.seqid != 0, || "expected a sequence id other than 0".into())?;
    expect(!copy.reply.requirements.synchronous, || "expected cr_synchronous FALSE".into())?;
    let (count, length) = (copy.reply.response.count_bytes, copy.content.len() as u64);
    expect(count <= length, || format!("expected at most {length} bytes, found {count}"))?;
    copy.cancel(&mut client).map(drop)
}
