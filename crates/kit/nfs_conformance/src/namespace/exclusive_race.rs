use crate::prelude::*;
use nfs::v4::open::{CreateHow, ExclusiveCreate, OpenHow, share_access, share_deny};

check! {
    /// Of two clients that create a name exclusively at once, one succeeds and the other gets EXIST.
    404, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (client, directory) = bench.place()?;
    let (mut one, mut two) = (client, bench.client()?);
    for round in 0..32 {
        let mut calls = Vec::new();
        for (client, verifier) in [(&mut one, [1; 8]), (&mut two, [2; 8])] {
            let create = ExclusiveCreate { verifier, attributes: Fattr::new([Attribute::Mode(0o644)]) };
            let how = OpenHow::Create(CreateHow::ExclusiveWithAttributes(create));
            let sequence = Operation::Sequence(client.sequence(1, client.next(1), true));
            client.advance(1);
            let open = op::open(format!("{round}"), share_access::BOTH, share_deny::NONE, how);
            calls.push(vec![sequence, op::put(&directory), open]);
        }
        let replies = one.outside.call_all(&calls)?;
        let mut statuses: Vec<_> = replies.iter().map(Reply::status).collect();
        statuses.sort();
        expect_equal("statuses", statuses, vec![Ok(()), Err(Status::EXIST)])?;
    }
    Ok(())
}
