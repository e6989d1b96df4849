use super::super::prelude::*;

check! {
    /// VPD page 83h names the same logical unit by a 16-byte NAA through both portals, in one port
    /// group, with different ports.
    8, "SPC-4 §7.8.6", needs: [SecondPortal]
}

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
    // Each port is in the group that it names.
    let groups = groups_of(&port_groups(bench, A)?);
    for (port, designators) in [(port, &first), (other, &second)] {
        let group = designator(designators, 1, 5)?;
        let holds = |found: &([u8; 2], Vec<[u8; 2]>)| {
            group.ends_with(&found.0) && found.1.iter().any(|member| port.ends_with(member))
        };
        expect(groups.iter().any(holds), || {
            format!("expected port {} in target port group {}, found it elsewhere", hex(&port), hex(&group))
        })?;
    }
    Ok(())
}
