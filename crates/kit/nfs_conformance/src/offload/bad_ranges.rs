use crate::prelude::*;

check! {
    /// ALLOCATE of no bytes is INVAL, and beyond the largest file FBIG or INVAL.
    686, "RFC 7862 §15.1.3"; choice, needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    for (offset, length) in [(0, 0), (u64::MAX - 10, 100), (i64::MAX as u64, 100)] {
        let call = [op::put(&file.handle), op::allocate(&file.stateid, offset, length)];
        client.call(call)?.optional()?.fails_with(&[Status::INVAL, Status::FBIG])?;
    }
    client.expect_content(&file.handle, b"content")
}
