use crate::prelude::*;

check! {
    /// All attributes of which Linux makes a `stat` are there.
    775, "RFC 8881 §5; Linux"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let numbers = [1, 3, 4, 8, 20, 33, 35, 36, 37, 41, 45, 47, 52, 53, 55];
    let found = client.attributes(&directory, &numbers)?;
    expect_equal("attributes", found.iter().map(Attribute::number).collect::<Vec<_>>(), numbers.to_vec())
}
