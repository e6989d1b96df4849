use crate::prelude::*;

check! {
    /// A changing operation whose reply does not fit changes nothing.
    224, "RFC 8881 §2.10.6.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut root, directory) = bench.place()?;
    let owner = bench.owner();
    let mut client = Client::begin_with(bench.outside()?, &owner, |arguments| {
        arguments.fore_channel.max_response_bytes = 300;
        arguments.fore_channel.max_cached_response_bytes = 300;
    })?;
    client.call([op::reclaim_complete(false)])?.ok()?;
    let (mut done, mut refused) = (0, 0);
    for length in (0..248).step_by(8) {
        let file = root.create(&directory, "f")?;
        root.close(&file)?;
        let sequence = client.sequence(0, client.next(0), false);
        let operations = [Operation::Sequence(sequence), op::put(&directory), op::remove("f")];
        let reply = client.outside.call_with(&vec![b't'; length], client.outside.minor, &operations)?;
        let left = !root.names(&directory)?.is_empty();
        if matches!(reply.results.first(), Some(Outcome::Sequence(Ok(_)))) {
            client.advance(0);
        }
        match reply.status() {
            Ok(()) => done += 1,
            Err(Status::REP_TOO_BIG) => refused += 1,
            Err(_) => return failed(format!("expected NFS4_OK or REP_TOO_BIG, found {}", reply.found())),
        }
        let expected = reply.status().is_err();
        expect_equal(&format!("whether the file is left after {}", reply.found()), left, expected)?;
    }
    expect(done > 0 && refused > 0, || format!("REMOVE: {done} done and {refused} refused, expected both"))
}
