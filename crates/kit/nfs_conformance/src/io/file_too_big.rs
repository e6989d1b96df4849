use crate::prelude::*;

check! {
    /// WRITE beyond the largest file is FBIG or INVAL and changes nothing.
    530, "RFC 8881 §18.32"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    let before = client.facts(&file.handle)?;
    for offset in [u64::MAX - 2, i64::MAX as u64] {
        let write = op::write(&file.stateid, offset, Stable::FileSync, b"data");
        client.call([op::put(&file.handle), write])?.fails_with(&[Status::FBIG, Status::INVAL])?;
    }
    expect_equal("attributes", client.facts(&file.handle)?, before)
}
