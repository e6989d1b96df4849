use crate::prelude::*;

check! {
    /// LINK gives a file one more name; of an existing name it is EXIST, of a directory ISDIR or INVAL.
    389, "RFC 8881 §18.9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&file.handle), op::save(), op::put(&directory), op::link("g")])?.ok()?;
    expect_equal("links", client.facts(&file.handle)?.links, 2)?;
    client.call([op::put(&file.handle), op::save(), op::put(&directory), op::link("g")])?.fails(Status::EXIST)?;
    let wrong = [Status::ISDIR, Status::INVAL, Status::PERM];
    client.call([op::put(&directory), op::save(), op::link("h")])?.fails_with(&wrong)?.done()
}
