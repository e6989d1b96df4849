use crate::prelude::*;

check! {
    /// SETATTR of a read-only attribute is INVAL, of an unsupported one ATTRNOTSUPP; none is set.
    550, "RFC 8881 §18.30"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let before = client.facts(&file.handle)?;
    let unknown = Fattr { mask: Bitmap::new([100]), values: vec![0; 4].into() };
    for (attributes, status) in [(Fattr::new([Attribute::Fileid(7)]), Status::INVAL), (unknown, Status::ATTRNOTSUPP)] {
        let set = op::set_attributes(&Stateid::ANONYMOUS, attributes);
        let reply = client.call([op::put(&file.handle), set])?.fails(status)?;
        match reply.last()? {
            Outcome::SetAttributes(results) => expect(results.set.is_empty(), || format!("set: {:?}", results.set))?,
            found => return failed(format!("expected results of SETATTR, found {found:?}")),
        }
    }
    expect_equal("attributes", client.facts(&file.handle)?, before)
}
