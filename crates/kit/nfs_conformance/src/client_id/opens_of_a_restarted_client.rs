use crate::prelude::*;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// CREATE_SESSION after a new verifier removes the opens of the client's earlier run.
    249, "RFC 8881 §18.35.4 case 5"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    let deny = op::open("f", share_access::READ, share_deny::WRITE, OpenHow::NoCreate);
    client.close(&file)?;
    client.open(&directory, deny)?;
    let write = || op::open("f", share_access::WRITE, share_deny::NONE, OpenHow::NoCreate);
    let mut other = bench.client()?;
    other.call([op::put(&directory), write()])?.fails(Status::SHARE_DENIED)?;
    let again = client.outside.exchange(&client.owner, [2; 8], 0)?;
    client.outside.create(again.client, again.sequence)?;
    other.open(&directory, write()).map(drop)
}
