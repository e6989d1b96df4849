//! VPD page 83h names the same logical unit by a 16-byte NAA through both portals, in one port group, with different ports.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 8,
    name: "discovery/designators_through_both_portals",
    section: "SPC-4 §7.8.6",
    asks: "VPD page 83h names the same logical unit by a 16-byte NAA through both portals, in one port group, with different ports.",
    needs: &[Need::SecondPortal],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let first = designators(bench, A)?;
    let second = designators(bench, A2)?;
    let naa = designator(&first, 0, 3)?;
    expect_bytes("NAA designator through the second portal", &designator(&second, 0, 3)?, &naa)?;
    expect_equal("length of the NAA designator", naa.len(), 16)?;
    expect_equal("NAA", naa.first().map_or(0, |byte| byte >> 4), 6)?;
    let (port, other) = (designator(&first, 1, 4)?, designator(&second, 1, 4)?);
    expect(port != other, || {
        format!("relative target ports: expected two, found {} through both portals", hex(&port))
    })?;
    // A group that both portals name must hold both; different groups have to be different.
    let (group, other_group) = (designator(&first, 1, 5)?, designator(&second, 1, 5)?);
    expect_bytes("target port group through the second portal", &other_group, &group)?;
    Ok(())
}
