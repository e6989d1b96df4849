use crate::prelude::*;

check! {
    /// Names that differ in case or in composition are different.
    397, "RFC 8881 §14"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    for name in ["name", "Name", "\u{e4}", "a\u{308}"] {
        client.make_directory(&directory, name.as_bytes())?;
    }
    expect_equal("names", client.names(&directory)?.len(), 4)
}
