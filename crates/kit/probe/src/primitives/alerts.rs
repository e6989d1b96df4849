//! Does the array tell hosts that space runs out? The threshold exponent of VPD page B2h, and the log page of logical block provisioning.

use super::{Primitive, Status, Verdict};
use crate::Subject;
use data_mover::DeviceError;
use initiator::cdb;
use iscsi::initiator::TransferRequest;

/// LOG SENSE of the cumulative values of page 0Ch, SPC-4 §6.8.
const LOG_SENSE: [u8; 10] = [0x4d, 0, 0x40 | 0x0c, 0, 0, 0, 0, 0, 64, 0];

pub(crate) async fn verdict(subject: &Subject) -> Result<Verdict, DeviceError> {
    let exponent = subject.unit.page(0xb2).await?.and_then(|page| page.get(4).copied()).unwrap_or(0);
    let log = subject.unit.run("LOG SENSE", cdb::padded(&LOG_SENSE), TransferRequest::In(64)).await;
    let log = match log {
        Ok(page) => page.len() > 4,
        Err(error) if error.is_lost() => return Err(error),
        Err(_) => false,
    };
    let (status, reason) = match (exponent, log) {
        (0, false) => (Status::NotSupported, "no threshold exponent in VPD page B2h, and no log page 0Ch".to_owned()),
        (0, true) => {
            (Status::NotSupported, "no threshold exponent in VPD page B2h; log page 0Ch tells resources".to_owned())
        }
        (exponent, false) => (Status::Supported, format!("threshold sets of 2^{exponent} blocks (VPD page B2h)")),
        (exponent, true) => (
            Status::Supported,
            format!("threshold sets of 2^{exponent} blocks (VPD page B2h); log page 0Ch tells resources"),
        ),
    };
    Ok(Verdict::new(Primitive::Alerts, status, reason))
}
