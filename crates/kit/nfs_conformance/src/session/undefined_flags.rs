use crate::client::session_arguments;
use crate::prelude::*;

check! {
    /// Undefined flags of CREATE_SESSION are INVAL.
    266, "RFC 8881 §18.36.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    let mut arguments = session_arguments(exchanged.client, exchanged.sequence);
    arguments.flags = 0xf;
    outside.call([Operation::CreateSession(Box::new(arguments))])?.fails(Status::INVAL)?.done()
}
