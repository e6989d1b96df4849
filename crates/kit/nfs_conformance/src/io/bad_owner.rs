use crate::prelude::*;

check! {
    /// SETATTR of an owner in an unknown domain is BADOWNER.
    548, "RFC 8881 §5.9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.set(&file.handle, [Attribute::Owner("1000".into())])?;
    let set = op::set_attributes(&Stateid::ANONYMOUS, Fattr::new([Attribute::Owner("x@unknown.invalid".into())]));
    client.call([op::put(&file.handle), set])?.fails(Status::BADOWNER)?.done()
}
