use crate::prelude::*;

check! {
    /// SEQUENCE anywhere but first is SEQUENCE_POS.
    212, "RFC 8881 §18.46.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    let again = Operation::Sequence(client.sequence(1, 1, false));
    client.call([again.clone()])?.fails(Status::SEQUENCE_POS)?;
    client.call([op::put_root(), again])?.fails(Status::SEQUENCE_POS)?.done()
}
