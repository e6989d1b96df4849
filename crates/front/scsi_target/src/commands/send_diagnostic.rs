//! SEND DIAGNOSTIC (1Dh), SPC-4 §6.44: the default self-test. There are no diagnostic pages and no
//! background self-tests, whose results a log page would keep.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "SEND DIAGNOSTIC",
    opcode: scsi::opcode::SEND_DIAGNOSTIC,
    service_action: None,
    // PF, SELFTEST, DEVOFFL, UNITOFFL; SELF-TEST CODE and PARAMETER LIST LENGTH have to be 0.
    cdb_usage: &hex!("1d 17 00 0000 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Standby,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Executes the default self-test (SELFTEST): flushes the write cache, which fails when the logical
/// unit can no longer store data. Without SELFTEST there is nothing to do.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    const SELFTEST: u8 = 0x04;
    if call.cdb.bit::<1>(SELFTEST) {
        call.logical_unit.check_present()?;
        call.unit().device().flush().await?;
    }
    Ok(Reply::good())
}
