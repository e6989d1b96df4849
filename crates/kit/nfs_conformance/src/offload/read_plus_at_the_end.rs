use crate::prelude::*;
use nfs::v4::io::Segment;

check! {
    /// READ_PLUS at the end returns eof and no data.
    704, "RFC 7862 §15.10", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    for offset in [7, 100] {
        let reply = client.call([op::put(&file.handle), op::read_plus(&file.stateid, offset, 10)])?.optional()?.ok()?;
        let read = take!(reply.last()?, Outcome::ReadPlus);
        let empty = |segment: &Segment| matches!(segment, Segment::Data(data) if data.data.is_empty());
        if read.eof && !read.segments.is_empty() && read.segments.iter().all(empty) {
            return differs("expected no segments, found empty ones");
        }
        expect_equal("eof and segments", (read.eof, read.segments.len()), (true, 0))?;
    }
    Ok(())
}
