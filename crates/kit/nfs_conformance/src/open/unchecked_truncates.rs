use crate::prelude::*;
use nfs::v4::open::{CreateHow, OpenHow, share_access, share_deny};

check! {
    /// OPEN with UNCHECKED4 and size 0 of an existing file truncates it and leaves its other attributes.
    434, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    let how = OpenHow::Create(CreateHow::Unchecked(Fattr::new([Attribute::Mode(0o600), Attribute::Size(0)])));
    client.open(&directory, op::open("f", share_access::BOTH, share_deny::NONE, how))?;
    let found = client.facts(&file.handle)?;
    expect_equal("size and mode", (found.size_bytes, found.mode), (0, 0o644))
}
