//! Parts of answers that several checks use, and administrative changes that are reverted.

use super::super::prelude::*;

/// LUN without a logical unit.
pub const NO_UNIT: u16 = 200;

/// Designators of VPD page 83h: (association, type, designator).
pub type Designators = Vec<(u8, u8, Vec<u8>)>;

/// Reads VPD page 83h.
pub fn designators(bench: &mut Bench<'_>, path: Path) -> Result<Designators, NotPassed> {
    let answer = bench.fetch(path, cdb::inquiry(Some(0x83), 1024), 1024)?.good()?.bytes(1, &[0x83])?;
    let mut rest = answer.data().get(4..).unwrap_or_default();
    let mut all = Vec::new();
    while let [_, kind, _, length, tail @ ..] = rest {
        let Some((designator, next)) = tail.split_at_checked(usize::from(*length)) else {
            return failed("VPD page 83h: a designator is cut off");
        };
        all.push((kind >> 4 & 3, kind & 0x0F, designator.to_vec()));
        rest = next;
    }
    Ok(all)
}

/// First designator of an association (0 logical unit, 1 target port) and type (3 NAA, 4 relative
/// target port, 5 target port group).
pub fn designator(all: &Designators, association: u8, kind: u8) -> Result<Vec<u8>, NotPassed> {
    match all.iter().find(|(a, k, _)| (*a, *k) == (association, kind)) {
        Some((_, _, designator)) => Ok(designator.clone()),
        None => failed(format!(
            "VPD page 83h: expected a designator of association {association} and type {kind}, found none"
        )),
    }
}

/// Sends REPORT TARGET PORT GROUPS, and returns its whole answer.
pub fn port_groups(bench: &mut Bench<'_>, path: Path) -> Result<Vec<u8>, NotPassed> {
    let answer = bench.fetch(path, cdb::padded(&[0xA3, 0x0A, 0, 0, 0, 0, 0, 0, 0x10, 0]), 4096)?.good()?;
    expect_equal("RETURN DATA LENGTH", answer.number(0, 4)?, answer.data().len() as u64 - 4)?;
    Ok(answer.data().to_vec())
}

/// Groups with the relative target port identifiers of their ports.
pub fn groups_of(groups: &[u8]) -> Vec<([u8; 2], Vec<[u8; 2]>)> {
    let mut rest = groups.get(4..).unwrap_or_default();
    let mut all = Vec::new();
    while let [_, _, high, low, _, _, _, count, tail @ ..] = rest {
        let (list, next) = tail.split_at_checked(usize::from(*count) * 4).unwrap_or((tail, &[]));
        let ports = list.chunks_exact(4).filter_map(|port| <[u8; 2]>::try_from(port.get(2..4)?).ok());
        all.push(([*high, *low], ports.collect()));
        rest = next;
    }
    all
}

/// Relative target port identifiers of all groups.
pub fn ports_of(groups: &[u8]) -> Vec<[u8; 2]> {
    groups_of(groups).into_iter().flat_map(|(_, ports)| ports).collect()
}

/// Runs `ask` while the second portal is in standby.
pub fn with_standby(bench: &mut Bench<'_>, ask: impl FnOnce(&mut Bench<'_>) -> Verdict) -> Verdict {
    let url = bench.url(A2)?;
    let portal = format!("{}:{}", url.host, url.port);
    bench.hook(&["standby", &portal])?;
    let verdict = ask(bench);
    bench.hook(&["active", &portal])?;
    verdict
}

/// Runs `ask` while the second logical unit is mapped to no initiator.
pub fn without_second(bench: &mut Bench<'_>, ask: impl FnOnce(&mut Bench<'_>) -> Verdict) -> Verdict {
    let lun = bench.url(A.second())?.lun.to_string();
    bench.hook(&["unmap", &lun])?;
    let verdict = ask(bench);
    bench.hook(&["map", &lun])?;
    verdict
}
