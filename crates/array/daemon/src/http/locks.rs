//! Longest lock that an operator sets: a lock cannot be ended, and may fill the pool, so longer ones need the role
//! admin.

use crate::http::problem::{Fault, Refusal};
use crate::people::Caller;
use identity::Role;
use jiff::SignedDuration;

/// Longest lock that an operator sets, in days.
const OPERATOR_DAYS: i64 = 30;

/// Checks that a caller may lock snapshots for as long.
pub(super) fn check(caller: &Caller, length: SignedDuration) -> Result<(), Fault> {
    // Locks end at full hours, and clocks of clients differ.
    let most = SignedDuration::from_hours(24 * OPERATOR_DAYS + 1);
    if caller.role < Role::Admin && length > most {
        return Err(Refusal::LongLock { most_days: OPERATOR_DAYS, has: caller.role }.into());
    }
    Ok(())
}

/// Checks the seconds for which a schedule locks; 0: it does not.
pub(super) fn check_seconds(caller: &Caller, seconds: Option<u32>) -> Result<(), Fault> {
    check(caller, SignedDuration::from_secs(i64::from(seconds.unwrap_or(0))))
}
