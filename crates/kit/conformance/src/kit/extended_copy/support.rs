//! Parameter lists of EXTENDED COPY like ESXi's; checks change bytes of them.

use super::super::prelude::*;

/// 16-byte NAA designator of a logical unit.
pub fn naa(bench: &mut Bench<'_>, path: Path) -> Result<[u8; 16], NotPassed> {
    let all = designators(bench, path)?;
    match all.iter().find_map(|(association, kind, id)| {
        let id: [u8; 16] = id.as_slice().try_into().ok()?;
        (*association == 0 && *kind == 3).then_some(id)
    }) {
        Some(naa) => Ok(naa),
        None => failed("VPD page 83h: expected an NAA designator of 16 bytes, found none"),
    }
}

/// Sends EXTENDED COPY with a list.
pub fn copy(bench: &mut Bench<'_>, path: Path, list: Vec<u8>) -> Result<Answer, NotPassed> {
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    bench.send_data(path, cdb::extended_copy(length), list)
}

/// OPERATING PARAMETERS, in full.
pub fn parameters(bench: &mut Bench<'_>) -> Result<Answer, NotPassed> {
    let answer = bench.fetch(A, cdb::receive_copy_results(3, 0, 16_384), 16_384)?.good()?;
    answer.number(40, 4)?;
    Ok(answer)
}

/// Reserves a scratch range and fills its first blocks with data; the destination, from 2048 blocks
/// on, is as long.
pub fn source(bench: &mut Bench<'_>, blocks: usize) -> Result<(u64, Vec<u8>), NotPassed> {
    let lba = bench.scratch((blocks as u64).max(2048) * 2)?;
    let data = bench.pattern(blocks);
    bench.write(A, lba, &data)?;
    Ok((lba, data))
}

/// A list with one CSCD descriptor, that of the first logical unit, and one segment.
pub fn within(bench: &mut Bench<'_>, source_lba: u64, destination_lba: u64, blocks: u16) -> Result<Vec<u8>, NotPassed> {
    let naa = naa(bench, A)?;
    let segment = CopySegment { source: 0, destination: 0, source_lba, destination_lba, blocks };
    Ok(cdb::extended_copy_list(&[naa], &[segment]))
}

/// A list that copies no blocks.
pub fn nothing(bench: &mut Bench<'_>) -> Result<Vec<u8>, NotPassed> {
    within(bench, 0, 0, 0)
}

/// A list from the first logical unit to the second.
pub fn between_units(
    bench: &mut Bench<'_>,
    source_lba: u64,
    destination_lba: u64,
    blocks: u16,
) -> Result<Vec<u8>, NotPassed> {
    let units = [naa(bench, A)?, naa(bench, A.second())?];
    let segment = CopySegment { source: 0, destination: 1, source_lba, destination_lba, blocks };
    Ok(cdb::extended_copy_list(&units, &[segment]))
}
