use crate::prelude::*;

check! {
    /// PUTROOTFH gives the same handle each time, and handles are persistent.
    350, "RFC 8881 §4.1, §4.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let reply = client.call([op::put_root(), op::get_filehandle(), op::put_root(), op::get_filehandle()])?.ok()?;
    let first = take!(reply.result(1)?, Outcome::GetFilehandle);
    expect_equal("handle", take!(reply.last()?, Outcome::GetFilehandle), first.clone())?;
    expect(!first.is_empty(), || "handle: expected some bytes, found none".into())?;
    let (mut client, directory) = bench.place()?;
    expect_equal("fh_expire_type", client.attributes(&directory, &[2])?, vec![Attribute::HandleExpireType(0)])
}
