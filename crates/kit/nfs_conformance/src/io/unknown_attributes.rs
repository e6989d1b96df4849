use crate::prelude::*;

check! {
    /// Unknown attributes are left out of the reply of GETATTR.
    541, "RFC 8881 §18.7"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let found = client.attributes(&directory, &[1, 90, 150, 200])?;
    expect_equal("attributes", found, vec![Attribute::Type(FileType::Directory)])
}
