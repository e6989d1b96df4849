use crate::client::{create_session, exchange_id};
use crate::prelude::*;
use nfs::v4::session::{BindArguments, WantedDirection};

check! {
    /// EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION and DESTROY_CLIENTID outside a session are
    /// NOT_ONLY_OP when something follows, and do nothing.
    213, "RFC 8881 §18.35.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    let direction = WantedDirection::ForeOrBoth;
    let bind = BindArguments { session: [0; 16], direction, rdma: false };
    for operation in [
        exchange_id(b"another", [1; 8], 0),
        create_session(exchanged.client, exchanged.sequence),
        Operation::BindConnection(bind),
        op::destroy_client(exchanged.client),
    ] {
        outside.call([operation, op::put_root()])?.fails_at(0, &[Status::NOT_ONLY_OP])?;
    }
    outside.create(exchanged.client, exchanged.sequence).map(drop)
}
