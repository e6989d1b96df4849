use crate::prelude::*;
use nfs::v4::xattr::SetOption;

check! {
    /// GETXATTR returns what SETXATTR set; the change of the file is atomic.
    721, "RFC 8276 §8.4", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let set = op::set_xattr(SetOption::Either, "key", b"value");
    let reply = client.call([op::put(&file.handle), set])?.optional()?.ok()?;
    let change = take!(reply.last()?, Outcome::SetXattr);
    expect(change.before != change.after, || "change: expected another value after".into())?;
    let reply = client.call([op::put(&file.handle), op::xattr("key")])?.ok()?;
    expect_bytes("value", &take!(reply.last()?, Outcome::GetXattr), b"value")
}
