use crate::prelude::*;

check! {
    /// WRITE behind the end leaves a gap of zeros.
    529, "RFC 8881 §18.32"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    client.write(&file, 10_000, b"y")?;
    let mut expected = vec![0; 10_001];
    (expected[0], expected[10_000]) = (b'x', b'y');
    client.expect_content(&file.handle, &expected)?;
    expect_equal("size", client.facts(&file.handle)?.size_bytes, 10_001)
}
