use crate::prelude::*;

check! {
    /// RENAME and LINK across shares are XDEV.
    385, "RFC 8881 §18.9, §18.26", needs: [SecondShare]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let second = bench.second_share(&mut client)?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&directory), op::save(), op::put(&second), op::rename("f", "g")])?.fails(Status::XDEV)?;
    client.call([op::put(&file.handle), op::save(), op::put(&second), op::link("g")])?.fails(Status::XDEV)?.done()
}
