use crate::prelude::*;

check! {
    /// RENAME over a file replaces it in one step: no LOOKUP of the name fails meanwhile.
    380, "RFC 8881 §18.26"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "target")?;
    client.close(&file)?;
    let mut other = bench.client()?;
    for _ in 0..32 {
        let source = client.create(&directory, "source")?;
        client.close(&source)?;
        let rename = vec![
            Operation::Sequence(client.sequence(1, client.next(1), true)),
            op::put(&directory),
            op::save(),
            op::rename("source", "target"),
        ];
        client.advance(1);
        let mut calls = vec![rename];
        for slot in 1..4 {
            let sequence = Operation::Sequence(other.sequence(slot, other.next(slot), false));
            calls.push(vec![sequence, op::put(&directory), op::lookup("target")]);
            other.advance(slot);
        }
        for reply in client.outside.call_all(&calls)? {
            reply.ok()?;
        }
        expect_equal("handle", client.find(&directory, "target")?, source.handle)?;
    }
    expect_equal("names", client.names(&directory)?, vec![b"target".to_vec()])
}
