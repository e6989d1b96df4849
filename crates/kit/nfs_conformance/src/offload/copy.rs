use crate::prelude::*;

check! {
    /// A synchronous COPY of a whole file copies all of it.
    645, "RFC 7862 §15.2", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(41_060);
    let source = client.create_with(&directory, "f", &content)?;
    let target = client.create(&directory, "g")?;
    let copy = op::copy(&source.stateid, &target.stateid, 0, 0, 0);
    let call = [op::put(&source.handle), op::save(), op::put(&target.handle), copy];
    let reply = client.call(call)?.optional()?.ok()?;
    let copied = take!(reply.last()?, Outcome::Copy);
    expect_equal("count", copied.response.count_bytes, 41_060)?;
    expect(copied.response.callback.is_none() && copied.requirements.synchronous, || {
        "expected a copy that has ended".into()
    })?;
    client.expect_content(&target.handle, &content)
}
