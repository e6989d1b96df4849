use crate::prelude::*;
use nfs::v4::open::{CreateHow, ExclusiveCreate, OpenHow, share_access, share_deny};

check! {
    /// An exclusive creation can be repeated with its verifier; with another one it is EXIST.
    436, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let open = |verifier| {
        let create = ExclusiveCreate { verifier, attributes: Fattr::new([Attribute::Mode(0o600)]) };
        let how = OpenHow::Create(CreateHow::ExclusiveWithAttributes(create));
        op::open("f", share_access::BOTH, share_deny::NONE, how)
    };
    let first = client.open(&directory, open([7; 8]))?;
    expect_equal("handle", client.open(&directory, open([7; 8]))?.handle, first.handle)?;
    client.call([op::put(&directory), open([8; 8])])?.fails(Status::EXIST)?.done()
}
