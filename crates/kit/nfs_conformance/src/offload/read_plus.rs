use crate::prelude::*;
use nfs::v4::io::Segment;

check! {
    /// READ_PLUS returns the bytes of READ as data and holes, in order and without a gap.
    702, "RFC 7862 §15.10", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let data = bench.content(4096);
    client.write(&file, 0, &data)?;
    client.write(&file, 65_536, &data)?;
    let reply = client.call([op::put(&file.handle), op::read_plus(&file.stateid, 0, 100_000)])?.optional()?.ok()?;
    let read = take!(reply.last()?, Outcome::ReadPlus);
    let mut found = Vec::new();
    for segment in read.segments.iter() {
        let (offset, bytes) = match segment {
            Segment::Data(data) => (data.offset_bytes, data.data.to_vec()),
            Segment::Hole(hole) if hole.length_bytes <= 100_000 => {
                (hole.offset_bytes, vec![0; hole.length_bytes as usize])
            }
            Segment::Hole(hole) => return failed(format!("a hole of {} bytes in 100 000", hole.length_bytes)),
        };
        expect_equal("offset of a segment", offset, found.len() as u64)?;
        found.extend(bytes);
    }
    let whole = client.content(&file.handle)?;
    expect_bytes("content", &found, whole.get(..found.len()).unwrap_or_default())?;
    expect_equal("eof", read.eof, found.len() == whole.len())?;
    expect(!found.is_empty(), || "expected segments, found none".into())
}
