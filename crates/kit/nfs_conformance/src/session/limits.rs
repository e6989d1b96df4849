use crate::prelude::*;

check! {
    /// No limit of the fore channel is above the one asked for, and 8 operations are granted.
    268, "RFC 8881 §18.36; Linux"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let client = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.fore_channel.max_operations = 8)?;
    let granted = &client.created.fore_channel;
    let asked = crate::client::session_arguments(0, 0).fore_channel;
    expect(granted.max_requests <= asked.max_requests && granted.max_requests > 0, || "slots: more than asked".into())?;
    expect(granted.max_request_bytes <= asked.max_request_bytes, || "request size: more than asked".into())?;
    expect(granted.max_response_bytes <= asked.max_response_bytes, || "response size: more than asked".into())?;
    expect_equal("operations", granted.max_operations, 8)
}
