//! Alerts: whether the array signals to hosts that space is running out, by the threshold exponent
//! of VPD page B2h and the log page of logical block provisioning.

use super::{Primitive, Status, Verdict};
use crate::subject::{Probed, Subject};
use data_mover::DeviceError;

pub(crate) async fn verdict<D: Probed>(subject: &Subject<D>) -> Result<Verdict, DeviceError> {
    let page = subject.unit.provisioning_page().await?;
    let log = subject.unit.provisioning_log().await?;
    let (status, reason) = judged(page.as_deref().unwrap_or_default(), log.as_deref().unwrap_or_default());
    Ok(Verdict::new(Primitive::Alerts, status, reason))
}

/// Verdict from VPD page B2h and log page 0Ch; each is empty if the unit has none.
fn judged(page: &[u8], log: &[u8]) -> (Status, String) {
    // PERIPHERAL, PAGE CODE, PAGE LENGTH (2 bytes), THRESHOLD EXPONENT: SBC-3 §6.6.4.
    let exponent = match page {
        [_, 0xb2, _, _, exponent, ..] => *exponent,
        _ => 0,
    };
    match (exponent, reports_resources(log)) {
        (0, false) => (Status::NotSupported, "no threshold exponent in VPD page B2h, and no log page 0Ch".to_owned()),
        (0, true) => {
            (Status::NotSupported, "no threshold exponent in VPD page B2h; log page 0Ch reports resources".to_owned())
        }
        (exponent, false) => (Status::Supported, format!("threshold sets of 2^{exponent} blocks (VPD page B2h)")),
        (exponent, true) => (
            Status::Supported,
            format!("threshold sets of 2^{exponent} blocks (VPD page B2h); log page 0Ch reports resources"),
        ),
    }
}

/// Whether a log page is 0Ch and has AVAILABLE or USED LBA MAPPING RESOURCES (parameters 1 and 2), SBC-3 §6.3.4.
fn reports_resources(log: &[u8]) -> bool {
    let [code, _, high, low, rest @ ..] = log else { return false };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if code & 0x3f != 0x0c {
        return false;
    }
    // The page may be longer than the part that was requested.
    let mut rest = rest.get(..length).unwrap_or(rest);
    while let [high, low, _control, length, tail @ ..] = rest {
        let Some((value, next)) = tail.split_at_checked(usize::from(*length)) else { return false };
        if matches!(u16::from_be_bytes([*high, *low]), 1 | 2) && value.len() >= 4 {
            return true;
        }
        rest = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: [u8; 8] = [0, 0xb2, 0, 4, 11, 0xe4, 2, 0];
    const LOG: [u8; 16] = [0x0c, 0, 0, 12, 0, 1, 3, 8, 0, 0, 1, 0, 2, 0, 0, 0];

    /// Regression: any answer longer than four bytes counted as the log page, and byte 4 of any
    /// page as the exponent.
    #[test]
    fn pages_that_lie_are_not_believed() {
        let (status, reason) = judged(&PAGE, &LOG);
        assert_eq!(status, Status::Supported);
        assert!(reason.ends_with("log page 0Ch reports resources"), "{reason}");
        let page =
            |at: usize, value: u8| PAGE.iter().enumerate().map(move |(i, byte)| if i == at { value } else { *byte });
        for lying in [page(1, 0xb0).collect(), page(4, 0).collect(), PAGE[..4].to_vec(), vec![]] {
            assert_eq!(judged(&lying, &LOG).0, Status::NotSupported, "{lying:?}");
        }
        let log =
            |at: usize, value: u8| LOG.iter().enumerate().map(move |(i, byte)| if i == at { value } else { *byte });
        for lying in
            [log(0, 0x0d).collect(), log(3, 0).collect(), log(5, 9).collect(), log(7, 200).collect(), LOG[..9].to_vec()]
        {
            assert!(!judged(&PAGE, &lying).1.contains("log page"), "{lying:?}");
        }
    }
}
