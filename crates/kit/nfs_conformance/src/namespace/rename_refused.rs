use crate::prelude::*;

check! {
    /// RENAME of a missing name is NOENT, onto another kind EXIST, NOTDIR or ISDIR, onto a full directory
    /// EXIST or NOTEMPTY, into a descendant INVAL; nothing changes.
    381, "RFC 8881 §18.26"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.create(&directory, "f")?;
    let inner = client.make_directory(&directory, b"d")?;
    client.make_directory(&inner, b"x")?;
    client.make_directory(&directory, b"e")?;
    let kinds = [Status::EXIST, Status::NOTDIR, Status::ISDIR, Status::NOTEMPTY];
    for (old, new, allowed) in [
        ("missing", "y", &[Status::NOENT][..]),
        ("f", "d", &kinds),
        ("e", "f", &kinds),
        ("e", "d", &[Status::EXIST, Status::NOTEMPTY]),
    ] {
        client.call([op::put(&directory), op::save(), op::rename(old, new)])?.fails_with(allowed)?;
    }
    client.call([op::put(&directory), op::save(), op::put(&inner), op::rename("d", "x2")])?.fails(Status::INVAL)?;
    expect_equal("names", client.names(&directory)?, vec![b"d".to_vec(), b"e".to_vec(), b"f".to_vec()])
}
