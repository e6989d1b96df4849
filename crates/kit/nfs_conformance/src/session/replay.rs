use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// A repeated call has the same reply, bit for bit, on this and on a new connection, and takes effect
    /// once.
    282, "RFC 8881 §2.10.6.1.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let sequence = client.sequence(1, 1, true);
    let operations = [op::put(&directory), op::create(CreateType::Directory, "d", Fattr::none())];
    let first = client.send(sequence.clone(), operations.clone())?.ok()?;
    let again = client.send(sequence.clone(), operations.clone())?;
    expect_bytes("reply", &again.bytes, &first.bytes)?;
    let sequenced = Operation::Sequence(sequence);
    let elsewhere = client.outside.reconnect()?.call(std::iter::once(sequenced).chain(operations))?;
    expect_bytes("reply on a new connection", &elsewhere.bytes, &first.bytes)?;
    expect_equal("names", client.names(&directory)?, vec![b"d".to_vec()])
}
