use crate::prelude::*;
use nfs::v4::session::{BindArguments, BoundDirection, WantedDirection};

check! {
    /// BIND_CONN_TO_SESSION on a new connection gives a direction that was asked for; an unknown session is
    /// BADSESSION.
    299, "RFC 8881 §18.34"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    for (direction, allowed) in [
        (WantedDirection::Fore, vec![BoundDirection::Fore]),
        (WantedDirection::Back, vec![BoundDirection::Back]),
        (WantedDirection::ForeOrBoth, vec![BoundDirection::Fore, BoundDirection::Both]),
        (WantedDirection::BackOrBoth, vec![BoundDirection::Back, BoundDirection::Both]),
    ] {
        let outside = client.outside.reconnect()?;
        let bind = |session| Operation::BindConnection(BindArguments { session, direction, rdma: false });
        outside.call([bind([0xa5; 16])])?.fails(Status::BADSESSION)?;
        let reply = outside.call([bind(client.session())])?.ok()?;
        let found = take!(reply.last()?, Outcome::BindConnection);
        expect_equal("session", found.session, client.session())?;
        expect(allowed.contains(&found.direction), || format!("{direction:?}: expected {allowed:?}, found {found:?}"))?;
    }
    Ok(())
}
