use crate::prelude::*;

check! {
    /// A repeated call with other operations is SEQ_FALSE_RETRY, or has the first reply; it is not executed.
    287, "RFC 8881 §2.10.6.1.3.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.create(&directory, "f")?;
    let sequence = client.sequence(1, 1, true);
    let operations = [Operation::Sequence(sequence), op::put(&directory), op::remove("f")];
    let kept = client.send(client.sequence(1, 1, true), [op::put_root(), op::get_filehandle()])?.ok()?;
    let bytes = client.outside.attempt(b"", client.outside.minor, &operations);
    if bytes.as_ref().ok() != Some(&kept.bytes) {
        let bytes = bytes.map_err(|error| NotPassed::Failed(error.to_string()))?;
        Reply::decode(bytes, b"", &operations)?
            .fails_somewhere(&[Status::SEQ_FALSE_RETRY, Status::RETRY_UNCACHED_REP])?;
    }
    expect_equal("names", client.names(&directory)?.len(), 1)
}
