//! A WRITE that waits for its data ends with CLEAR TASK SET, LOGICAL UNIT RESET or TARGET WARM
//! RESET of another nexus: there is no response, and data that comes after the response to the
//! function is not written.

use super::super::prelude::*;

check! {
    /// A WRITE that waits for its data ends with CLEAR TASK SET, LOGICAL UNIT RESET or TARGET WARM
    /// RESET of another nexus; its data are not written.
    229, "SAM-5 §5.7, §7; RFC 7143 §11.5.1", needs: [Writes]
}

const BLOCKS: u32 = 16;
const BYTES: u32 = BLOCKS * 512;
/// Negotiated so that no data is sent before it is requested.
const KEYS: &[(&str, &str)] = &[("InitialR2T", "Yes"), ("ImmediateData", "No"), ("MaxBurstLength", "262144")];
/// Time in which a response must not come.
const PATIENCE: Duration = Duration::from_millis(300);

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(u64::from(BLOCKS))?;
    for function in [
        TaskManagementFunction::CLEAR_TASK_SET,
        TaskManagementFunction::LOGICAL_UNIT_RESET,
        TaskManagementFunction::TARGET_WARM_RESET,
    ] {
        bench.check_stopped()?;
        let ended = ends(bench, lba, function);
        bench.clear_unit_attentions();
        ended?;
    }
    Ok(())
}

fn ends(bench: &mut Bench<'_>, lba: u64, function: TaskManagementFunction) -> Verdict {
    let (old, new) = (bench.pattern(BLOCKS as usize), bench.pattern(BLOCKS as usize));
    let (url, options) = (bench.url(B)?, bench.session_options(B));
    bench.cut(B);
    let (mut wire, _) = Wire::full_feature(&url, &options, KEYS)?;
    wire.clear_unit_attentions()?;
    let command = wire.command(200, 0xA0, BYTES, &cdb::write16(lba, BLOCKS, false));
    wire.send(&command)?;
    let asked = wire.must_receive()?;
    expect(asked.opcode() == 0x31, || format!("expected an R2T (31h), found PDU {:02x}h", asked.opcode()))?;
    let response = bench.manage(A, function, None)?;
    if response.0 == 5 {
        return skipped("the function is not supported");
    }
    expect(response.0 == 0, || format!("{function:?}: expected response 0, found {}", response.0))?;
    bench.clear_unit_attentions();
    bench.write(A, lba, &new)?;
    let late = Pdu::new(0x05, 0x80, 200).word(20, asked.get(20)).word(28, wire.exp_stat_sn).data(old);
    wire.send(&late)?;
    wire.patience(PATIENCE)?;
    match wire.receive()? {
        // A closed connection is also right: then nothing of it can be written any more.
        Received::Nothing | Received::Closed => {}
        Received::Pdu(pdu) if pdu.opcode() == 0x21 => {
            return failed(format!(
                "expected no response to a task after {function:?}, found status {:02x}h",
                pdu.header[3]
            ));
        }
        Received::Pdu(_) => {}
    }
    bench.expect_content(A, lba, &new)
}
