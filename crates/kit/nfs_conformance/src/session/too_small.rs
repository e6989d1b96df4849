use crate::client::session_arguments;
use crate::prelude::*;

check! {
    /// A response size of 0 and a request size of 20 are TOOSMALL.
    270, "RFC 8881 §18.36.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    let arguments = session_arguments(exchanged.client, exchanged.sequence);
    let (mut request, mut response) = (arguments.clone(), arguments);
    response.fore_channel.max_response_bytes = 0;
    outside.call([Operation::CreateSession(Box::new(response))])?.fails(Status::TOOSMALL)?;
    request.fore_channel.max_request_bytes = 20;
    let owner = bench.owner();
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    (request.client, request.sequence) = (exchanged.client, exchanged.sequence);
    outside.call([Operation::CreateSession(Box::new(request))])?.fails(Status::TOOSMALL)?.done()
}
