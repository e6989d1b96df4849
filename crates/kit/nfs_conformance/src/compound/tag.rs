use crate::prelude::*;

check! {
    /// The tag comes back bit for bit.
    201, "RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    for tag in ["abc", "ä", "four", "a longer tag with blanks"] {
        outside.call_with(tag.as_bytes(), outside.minor, &[])?.ok()?;
    }
    Ok(())
}
