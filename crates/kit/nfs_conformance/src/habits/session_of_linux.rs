use crate::prelude::*;

check! {
    /// The session that Linux asks for is granted without more than it asks for, and with all its operations.
    771, "RFC 8881 §18.36; Linux"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let client = Client::begin_with(bench.outside()?, &owner, |arguments| {
        arguments.fore_channel.max_requests = 64;
        arguments.fore_channel.max_operations = 8;
        arguments.back_channel.max_requests = 16;
        arguments.back_channel.max_operations = 2;
        arguments.back_channel.max_request_bytes = 4096;
        arguments.back_channel.max_response_bytes = 4096;
        arguments.back_channel.max_cached_response_bytes = 0;
    })?;
    let (fore, back) = (&client.created.fore_channel, &client.created.back_channel);
    expect_equal("operations", fore.max_operations, 8)?;
    expect(fore.max_requests <= 64 && back.max_requests <= 16, || "slots: more than asked".into())?;
    expect_equal("operations of callbacks", back.max_operations, 2)?;
    expect(back.max_request_bytes <= 4096 && back.max_response_bytes <= 4096, || "callbacks: longer than asked".into())
}
