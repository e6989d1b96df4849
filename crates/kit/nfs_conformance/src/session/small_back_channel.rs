use crate::client::session_arguments;
use crate::prelude::*;

check! {
    /// A back channel whose requests or replies have no room is TOOSMALL.
    273, "RFC 8881 §18.36.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for (request, response, operations) in [(8, 4096, 4), (4096, 8, 4), (4096, 4096, 1)] {
        let owner = bench.owner();
        let exchanged = outside.exchange(&owner, [1; 8], 0)?;
        let mut arguments = session_arguments(exchanged.client, exchanged.sequence);
        arguments.back_channel.max_request_bytes = request;
        arguments.back_channel.max_response_bytes = response;
        arguments.back_channel.max_operations = operations;
        outside.call([Operation::CreateSession(Box::new(arguments))])?.fails(Status::TOOSMALL)?;
    }
    Ok(())
}
