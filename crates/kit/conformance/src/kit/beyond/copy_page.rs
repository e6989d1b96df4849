use super::super::prelude::*;
use super::support::*;

check! {
    /// The third-party copy VPD page lists the service actions that REPORT SUPPORTED OPERATION
    /// CODES knows, and the descriptors that OPERATING PARAMETERS lists.
    220, "SPC-4 §7.8.17", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let descriptors = copy_descriptors(bench)?;
    let find = |kind: u16| descriptors.iter().find(|(found, _)| *found == kind).map(|(_, data)| data.as_slice());
    let Some(commands) = find(0x0001) else {
        return failed("VPD page 8Fh: expected a Supported Commands descriptor, found none");
    };
    let length = usize::from(commands.first().copied().unwrap_or(0));
    let mut rest = commands.get(1..=length).unwrap_or_default();
    while let [opcode, count, tail @ ..] = rest {
        let (service_actions, next) = tail.split_at(usize::from(*count).min(tail.len()));
        for service_action in 0..0x20 {
            let cdb = cdb::padded(&[0xA3, 0x0C, 0x03, *opcode, 0, service_action, 0, 0, 0, 64]);
            let answer = bench.fetch(A, cdb, 64)?;
            if answer.is(0x05, 0x20, 0x00) {
                return skipped("no REPORT SUPPORTED OPERATION CODES");
            }
            let supported = answer.good()?.number(1, 1)? & 0x07 == 3;
            let what = format!("support of {opcode:02X}h/{service_action:02x}h");
            expect_equal(&what, supported, service_actions.contains(&service_action))?;
        }
        rest = next;
    }
    let Some(implemented) = find(0x0008) else {
        return failed("VPD page 8Fh: expected a Supported Descriptors descriptor, found none");
    };
    let length = usize::from(implemented.first().copied().unwrap_or(0));
    let parameters = parameters(bench)?;
    let listed = parameters.data().get(44..).unwrap_or_default();
    expect_bytes("supported descriptors", implemented.get(1..=length).unwrap_or_default(), listed)
}
