use crate::prelude::*;

check! {
    /// VERIFY succeeds for equal attributes and is NOT_SAME for others; NVERIFY is SAME and succeeds.
    394, "RFC 8881 §18.15, §18.31"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let (same, other) = (Fattr::new([Attribute::Size(0)]), Fattr::new([Attribute::Size(1)]));
    let mut call = |operation| client.call([op::put(&file.handle), operation]);
    call(Operation::Verify(same.clone()))?.ok()?;
    call(Operation::Verify(other.clone()))?.fails(Status::NOT_SAME)?;
    call(Operation::VerifyDifferent(same))?.fails(Status::SAME)?;
    call(Operation::VerifyDifferent(other))?.ok()?.done()
}
