use super::super::prelude::*;

check! {
    /// LOG SENSE of page 0Ch reports available and used resources, and the used ones grow with
    /// writes.
    128, "SBC-3 §6.4.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8192)?;
    unmap(bench, A, &[(lba, 8192)])?.good()?;
    let before = used_resources(bench)?;
    let data = bench.pattern(8192);
    bench.write(A, lba, &data)?;
    let after = used_resources(bench)?;
    expect(after >= before, || format!("used resources: expected {before} or more after a WRITE, found {after}"))?;
    Ok(())
}
/// Value of parameter 0002h of log page 0Ch; parameter 0001h must be present too.
fn used_resources(bench: &mut Bench<'_>) -> Result<u32, NotPassed> {
    let answer =
        bench.fetch(A, cdb::padded(&[0x4D, 0, 0x4C, 0, 0, 0, 0, 0x02, 0x00]), 512)?.good()?.masked(0, 0x3F, 0x0C)?;
    let mut found = [None, None];
    let mut rest = answer.data().get(4..).unwrap_or_default();
    while let [high, low, _, length, tail @ ..] = rest {
        let (value, next) = tail.split_at_checked(usize::from(*length)).unwrap_or((tail, &[]));
        let place = usize::from(u16::from_be_bytes([*high, *low])).wrapping_sub(1);
        if let (Some(slot), Some(count)) = (found.get_mut(place), value.first_chunk::<4>()) {
            *slot = Some(u32::from_be_bytes(*count));
        }
        rest = next;
    }
    match found {
        [Some(_), Some(used)] => Ok(used),
        _ => failed(format!("log page 0Ch: expected parameters 0001h and 0002h, found {}", hex(answer.data()))),
    }
}
