use crate::prelude::*;

check! {
    /// An owner of 1 024 bytes is accepted, one of 1 025 is BADXDR.
    258, "RFC 8881 §3.3.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let outside = bench.outside()?;
    let owner = bench.owner().into_iter().cycle().take(1025).collect::<Vec<_>>();
    outside.exchange(owner.get(..1024).unwrap_or_default(), [1; 8], 0)?;
    let long = op::raw(42, |writer| {
        writer.fixed(&[1; 8]);
        writer.opaque(&owner);
        [0, 0, 0].iter().for_each(|word| writer.u32(*word));
    });
    outside.call([long])?.fails(Status::BADXDR)?.done()
}
