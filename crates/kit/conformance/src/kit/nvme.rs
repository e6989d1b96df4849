//! NVMe over TCP, numbers 177 to 187. Neither the array nor the kit speaks it: these are listed, and skipped.

use super::bench::Bench;
use super::check::{Check, Need, Verdict, skipped};

/// Never called: its need is never there.
fn run(_: &mut Bench<'_>) -> Verdict {
    skipped(Need::Nvme.missing())
}

const fn check(number: u16, name: &'static str, section: &'static str, asks: &'static str) -> Check {
    Check { number, name, section, asks, needs: &[Need::Nvme], run }
}

pub(super) const CHECKS: &[&Check] = &[
    &check(
        177,
        "nvme/initialize_connection",
        "NVMe/TCP §3.6.2.2",
        "ICReq with digests gets an ICResp that echoes them, and MAXH2CDATA of at least 4096.",
    ),
    &check(
        178,
        "nvme/identify_descriptors",
        "NVM Base §5.17.2.3",
        "The namespace identification descriptors hold NGUID and UUID, equal on all controllers.",
    ),
    &check(179, "nvme/fused_equal", "NVM §3.2.4", "Fused compare and write of equal data succeeds."),
    &check(
        180,
        "nvme/fused_differs",
        "NVM §3.2.4",
        "Fused compare and write of other data fails both halves and writes nothing.",
    ),
    &check(181, "nvme/fused_incomplete", "NVM Base §3.4.2", "The first of a fused pair without the second is aborted."),
    &check(182, "nvme/write_zeroes", "NVM §3.2.8", "Write Zeroes of 2048 blocks reads as zeros."),
    &check(183, "nvme/deallocate", "NVM §3.2.3", "Deallocating 256 ranges reads as zeros."),
    &check(184, "nvme/copy_not_announced", "NVM §3.2.2", "Copy that is not announced is an invalid opcode."),
    &check(
        185,
        "nvme/access_change",
        "NVM Base §5.2",
        "A change of the access state raises an event and counts in its log page.",
    ),
    &check(186, "nvme/namespace_added", "NVM Base §5.2", "A namespace that is added raises a notice once."),
    &check(
        187,
        "nvme/queue_after_admin_closed",
        "NVMe Fabrics §3.3",
        "Connecting a queue after the admin queue closed fails cleanly.",
    ),
];
