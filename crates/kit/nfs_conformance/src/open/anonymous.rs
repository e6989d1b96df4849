use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// The anonymous stateid reads where nothing is denied; WRITE against a deny is LOCKED.
    460, "RFC 8881 §8.2.3, §18.32.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let open = op::open("f", share_access::BOTH, share_deny::WRITE, op::unchecked(0o644));
    let file = client.open(&directory, open)?;
    client.write(&file, 0, b"content")?;
    let mut other = bench.client()?;
    other.expect_content(&file.handle, b"content")?;
    let write = op::write(&Stateid::ANONYMOUS, 0, Stable::FileSync, b"x");
    other.call([op::put(&file.handle), write])?.fails(Status::LOCKED)?;
    client.expect_content(&file.handle, b"content")
}
