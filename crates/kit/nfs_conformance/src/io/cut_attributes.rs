use crate::prelude::*;

check! {
    /// Attributes that are too short or too long are BADXDR.
    552, "RFC 8881 §18.30"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    for length in [0, 4, 12] {
        let attributes = Fattr { mask: Bitmap::new([4]), values: vec![0; length].into() };
        let set = op::set_attributes(&Stateid::ANONYMOUS, attributes);
        client.call([op::put(&file.handle), set])?.fails(Status::BADXDR)?;
    }
    Ok(())
}
