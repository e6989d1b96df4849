use crate::prelude::*;

check! {
    /// DESTROY_SESSION of the session it is sent in must be the last operation: NOT_ONLY_OP.
    216, "RFC 8881 §18.37.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let destroy = Operation::DestroySession(client.session());
    client.call([destroy, op::put_root()])?.fails_at(0, &[Status::NOT_ONLY_OP])?;
    client.renew().map(drop)
}
