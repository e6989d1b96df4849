use crate::prelude::*;

check! {
    /// A repeated call that failed fails in the same way, even if it could succeed by now.
    284, "RFC 8881 §2.10.6.1.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let sequence = client.sequence(1, 1, true);
    let operations = [op::put(&directory), op::remove("f")];
    let first = client.send(sequence.clone(), operations.clone())?.fails(Status::NOENT)?;
    client.create(&directory, "f")?;
    let again = client.send(sequence, operations)?;
    expect_bytes("reply", &again.bytes, &first.bytes)?;
    expect_equal("names", client.names(&directory)?.len(), 1)
}
