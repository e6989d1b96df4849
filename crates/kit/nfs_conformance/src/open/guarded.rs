use crate::prelude::*;
use nfs::v4::open::{CreateHow, OpenHow, share_access, share_deny};

check! {
    /// OPEN with GUARDED4 of an existing name is EXIST.
    435, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let open = || {
        let how = OpenHow::Create(CreateHow::Guarded(Fattr::new([Attribute::Mode(0o600)])));
        op::open("f", share_access::BOTH, share_deny::NONE, how)
    };
    client.open(&directory, open())?;
    client.call([op::put(&directory), open()])?.fails(Status::EXIST)?.done()
}
