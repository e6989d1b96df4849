use super::super::prelude::*;

check! {
    /// Descriptor lists longer than MAXIMUM DESCRIPTOR LIST LENGTH are refused with PARAMETER LIST
    /// LENGTH ERROR or TOO MANY SEGMENT DESCRIPTORS.
    71, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let parameters = parameters(bench)?;
    let (cscds, segments, most) = (parameters.number(8, 2)?, parameters.number(10, 2)?, parameters.number(12, 4)?);
    let naa = naa(bench, A)?;
    let segment = CopySegment { source: 0, destination: 0, source_lba: 0, destination_lba: 0, blocks: 0 };
    let count = |number: u64| usize::try_from(number).unwrap_or(0);
    let all = cscds * 32 + segments * 28;
    if all > most {
        let list = cdb::extended_copy_list(&vec![naa; count(cscds)], &vec![segment; count(segments)]);
        copy(bench, A, list)?.check_condition(0x05, 0x1A, 0x00)?;
        return Ok(());
    }
    // Exactly the announced number of segments fits, so a longer list also has too many: a target
    // may report either.
    let more = (most - all) / 28 + 1;
    let list = cdb::extended_copy_list(&vec![naa; count(cscds)], &vec![segment; count(segments + more)]);
    let answer = copy(bench, A, list)?;
    if answer.is(0x05, 0x26, 0x08) {
        return Ok(());
    }
    answer.check_condition(0x05, 0x1A, 0x00)?;
    Ok(())
}
