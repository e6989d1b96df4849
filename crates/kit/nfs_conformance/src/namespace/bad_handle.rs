use crate::prelude::*;

check! {
    /// A handle of arbitrary bytes and one of none are BADHANDLE; one of 129 bytes is BADXDR.
    352, "RFC 8881 §18.19"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    for handle in [vec![0xa5; 32], Vec::new()] {
        client.call([op::put(&handle.into())])?.fails(Status::BADHANDLE)?;
    }
    client.call([op::raw(22, |writer| writer.opaque(&[0xa5; 129]))])?.fails(Status::BADXDR)?.done()
}
