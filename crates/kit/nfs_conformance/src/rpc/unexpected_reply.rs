use crate::prelude::*;

check! {
    /// A reply that nobody waits for is ignored; the next call is answered.
    9, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    let mut writer = xdr::Writer::default();
    [0xdead_beef_u32, 1, 0, 0, 0, 0].iter().for_each(|word| writer.u32(*word));
    wire.send_record(&writer.into_bytes())?;
    wire.expect_alive(8)
}
