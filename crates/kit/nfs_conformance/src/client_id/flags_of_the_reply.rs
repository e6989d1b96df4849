use crate::prelude::*;

check! {
    /// The flags of the reply are those that Linux accepts.
    259, "RFC 8881 §18.35; Linux"; choice
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let mask = if outside.minor >= 2 { 0x8007_0107 } else { 0x8007_0103 };
    let flags = outside.exchange(&owner, [1; 8], 0x103)?.flags;
    expect(flags & !mask == 0, || format!("flags: expected bits of {mask:#x}, found {flags:#x}"))
}
