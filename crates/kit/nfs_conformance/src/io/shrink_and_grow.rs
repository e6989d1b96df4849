use crate::prelude::*;

check! {
    /// After SETATTR has shrunk a file and made it grow, the gap reads as zeros.
    555, "RFC 8881 §18.30"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(10_000);
    let file = client.create_with(&directory, "f", &content)?;
    for size in [5000, 10_000] {
        let set = op::set_attributes(&file.stateid, Fattr::new([Attribute::Size(size)]));
        client.call([op::put(&file.handle), set])?.ok()?;
    }
    let mut expected = content;
    expected.truncate(5000);
    expected.resize(10_000, 0);
    client.expect_content(&file.handle, &expected)
}
