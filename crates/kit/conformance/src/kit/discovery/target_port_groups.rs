use super::super::prelude::*;

check! {
    /// REPORT TARGET PORT GROUPS is the same through both portals and names the ports of VPD page
    /// 83h.
    26, "SPC-4 §6.37", needs: [SecondPortal]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let first = port_groups(bench, A)?;
    let second = port_groups(bench, A2)?;
    expect_bytes("REPORT TARGET PORT GROUPS through the second portal", &second, &first)?;
    let ports = ports_of(&first);
    for path in [A, A2] {
        let port = designator(&designators(bench, path)?, 1, 4)?;
        let there = ports.iter().any(|found| port.ends_with(found));
        expect(there, || format!("expected port {} in a group, found {}", hex(&port), hex(&first)))?;
    }
    Ok(())
}
