use crate::prelude::*;

check! {
    /// Writes of any length at any place are what is read.
    531, "RFC 8881 §18.32"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let mut model = Vec::new();
    for _ in 0..200 {
        bench.check_stopped()?;
        let (at, length) = (bench.random().index(20_000), 1 + bench.random().index(9000));
        let data = bench.content(length);
        if model.len() < at + length {
            model.resize(at + length, 0);
        }
        if let Some(place) = model.get_mut(at..at + length) {
            place.copy_from_slice(&data);
        }
        client.write(&file, at as u64, &data)?;
    }
    client.expect_content(&file.handle, &model)
}
