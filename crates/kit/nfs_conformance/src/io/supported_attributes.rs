use crate::prelude::*;

check! {
    /// All required attributes are supported, and no supported one is missing in GETATTR.
    544, "RFC 8881 §5.6"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let found = client.attributes(&directory, &[0])?;
    let [Attribute::SupportedAttributes(supported)] = found.as_slice() else {
        return failed(format!("GETATTR: expected supported_attrs, found {found:?}"));
    };
    for number in (0..=11).chain([19, 75]) {
        expect(supported.contains(number), || format!("attribute {number}: expected it, found it not supported"))?;
    }
    let typed = supported.iter().filter(|number| {
        nfs::v4::attributes::row(*number).is_some_and(|row| row.direction != nfs::v4::attributes::Direction::Write)
    });
    let asked: Vec<_> = typed.filter(|number| *number != 11).collect();
    let numbers: Vec<_> = client.attributes(&directory, &asked)?.iter().map(Attribute::number).collect();
    expect_equal("attributes", numbers, asked)
}
