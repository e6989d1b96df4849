use crate::prelude::*;
use nfs::v4::io::{Content as Kind, SeekOk};

check! {
    /// SEEK finds the data and the end of a file; beyond the end it is NXIO, for another kind UNION_NOTSUPP.
    696, "RFC 7862 §15.11", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(40_960);
    let file = client.create_with(&directory, "f", &content)?;
    let mut seek = |offset, what| client.call([op::put(&file.handle), op::seek(&file.stateid, offset, what)]);
    let data = seek(0, Kind::DATA)?.optional()?.ok()?;
    expect_equal("data", take!(data.last()?, Outcome::Seek), SeekOk { eof: false, offset_bytes: 0 })?;
    let hole = seek(0, Kind::HOLE)?.ok()?;
    expect_equal("hole", take!(hole.last()?, Outcome::Seek).offset_bytes, 40_960)?;
    seek(50_000, Kind::DATA)?.fails(Status::NXIO)?;
    seek(0, Kind(2))?.fails(Status::UNION_NOTSUPP)?.done()
}
