use super::asynchronous::{begin, listen};
use crate::prelude::*;

check! {
    /// CB_OFFLOAD names the destination and the copy, bit for bit, with all that was copied.
    658, "RFC 7862 §16.1", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let called = listen(&client);
    let copy = begin(bench, &mut client, &directory)?;
    let (sequence, offload) = copy.callback(bench, &called)?;
    expect_equal("session", sequence.session, client.session())?;
    expect_equal("stateid", offload.stateid, copy.stateid)?;
    expect_equal("filehandle", &offload.file, &copy.target.handle)?;
    let response = match offload.outcome {
        Ok(response) => response,
        Err(failure) => return failed(format!("expected a copy that succeeded, found {failure:?}")),
    };
    expect(response.callback.is_none(), || "expected no stateid in the results".into())?;
    expect_equal("count", response.count_bytes, copy.content.len() as u64)?;
    expect_equal("copied", copy.start(&mut client)?, copy.content.len())
}
