use crate::prelude::*;

check! {
    /// The status flags of a session with a back channel are 0.
    297, "RFC 8881 §18.46"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    expect_equal("status flags", client.renew()?.status_flags, 0)
}
