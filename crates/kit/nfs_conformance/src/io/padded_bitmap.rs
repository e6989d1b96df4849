use crate::prelude::*;

check! {
    /// A bitmap padded with words of zeros is accepted, as ESXi sends it.
    540, "RFC 8881 §3.2; ESXi"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let padded = op::raw(9, |writer| [8, 2, 0, 0, 0, 0, 0, 0, 0].iter().for_each(|word| writer.u32(*word)));
    let reply = client.call([op::put(&directory), padded])?.ok()?;
    let found = take!(reply.last()?, Outcome::GetAttributes).attributes();
    expect_equal("attributes", found.ok(), Some(vec![Attribute::Type(FileType::Directory)]))
}
