//! PERSISTENT RESERVE OUT with its parameter list (SPC-4 §6.16), and removal of left-over
//! reservations.

use super::super::prelude::*;
use crate::commands::RESERVATION_CONFLICT;

/// Sends PERSISTENT RESERVE OUT: service action, type, reservation key, service action key.
pub fn out(
    bench: &mut Bench<'_>,
    path: Path,
    service_action: u8,
    kind: u8,
    key: u64,
    service_action_key: u64,
) -> Result<Answer, NotPassed> {
    bench.send_data(path, out_cdb(service_action, kind), out_list(key, service_action_key, false))
}

/// CDB of PERSISTENT RESERVE OUT.
pub fn out_cdb(service_action: u8, kind: u8) -> cdb::Cdb {
    cdb::padded(&[0x5F, service_action, kind, 0, 0, 0, 0, 0, 24])
}

/// Parameter list of PERSISTENT RESERVE OUT, with APTPL.
pub fn out_list(key: u64, service_action_key: u64, through_power_loss: bool) -> Vec<u8> {
    let mut list = [key.to_be_bytes(), service_action_key.to_be_bytes()].concat();
    list.extend_from_slice(&[0, 0, 0, 0, u8::from(through_power_loss), 0, 0, 0]);
    list
}

/// Sends REGISTER with the registered key (0 for none) and the new one (0 to unregister).
pub fn register(bench: &mut Bench<'_>, path: Path, old: u64, new: u64) -> Result<Answer, NotPassed> {
    out(bench, path, 0x00, 0, old, new)
}

/// Sends PERSISTENT RESERVE IN with a service action.
pub fn read_in(bench: &mut Bench<'_>, path: Path, service_action: u8) -> Result<Answer, NotPassed> {
    bench.fetch(path, cdb::padded(&[0x5E, service_action, 0, 0, 0, 0, 0, 1, 0]), 256)
}

/// Registers A and B; then A takes a write exclusive, all registrants reservation.
pub fn reserve_for_all_registrants(bench: &mut Bench<'_>) -> Verdict {
    register(bench, A, 0, 0xA)?.good()?;
    register(bench, B, 0, 0xB)?.good()?;
    out(bench, A, 0x01, 7, 0xA, 0)?.good()?.done()
}

/// Removes all reservations and registrations after a check that ended early. A target without
/// persistent reservations has none to remove; one that does not answer is left to the next check.
pub fn release_everything(bench: &mut Bench<'_>) {
    if !bench.options().destroy_data {
        return;
    }
    let _nothing_to_release = (|| {
        const KEY: u64 = 0x57_494E_444C;
        let keys = read_in(bench, A, 0x00)?.good()?;
        if keys.number(4, 4)? > 0 {
            out(bench, A, 0x06, 0, 0, KEY)?.good()?;
            out(bench, A, 0x03, 0, KEY, 0)?.good()?;
        }
        Ok::<(), NotPassed>(())
    })();
    release_units(bench);
}

/// Removes SPC-2 reservations, which some targets keep when the session of the holder ends. Each
/// initiator releases its own, and a logical unit that is still reserved is reset.
fn release_units(bench: &mut Bench<'_>) {
    bench.clear_unit_attentions();
    let mut units = vec![[A, B, C]];
    if bench.options().second_lun.is_some() {
        units.push([A.second(), B.second(), C.second()]);
    }
    for paths in units {
        for path in paths {
            // RELEASE (6) of a nexus without a reservation has no effect (SPC-2 §7.18).
            let _nothing_to_release = bench.ask(path, cdb::padded(&[0x17]));
        }
        let [first, ..] = paths;
        let reserved =
            bench.ask(first, cdb::test_unit_ready()).is_ok_and(|answer| answer.status() == RESERVATION_CONFLICT);
        if reserved {
            let _not_supported = bench.manage(first, TaskManagementFunction::LOGICAL_UNIT_RESET, None);
        }
    }
}
