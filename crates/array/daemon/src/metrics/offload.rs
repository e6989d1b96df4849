//! Metrics of offload commands: the same families for the array, for volumes and for shares.

use super::family::{Labels, counter};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use unit::{OffloadStatistics, ReasonCounts};

/// Counters of one primitive, with their labels.
pub(super) type Row<'a> = (Labels<'a>, &'a OffloadStatistics);

/// Labels with one more.
pub(super) fn with<'a>(labels: &Labels<'a>, name: &'static str, value: &'a str) -> Labels<'a> {
    let mut labels = labels.clone();
    labels.push((name, value));
    labels
}

/// Counters of commands, reasons and bytes. `prefix` begins the names.
pub(super) fn counters(encoder: &mut DescriptorEncoder, prefix: &str, rows: &[Row<'_>]) -> fmt::Result {
    let outcomes = rows.iter().flat_map(|(labels, of)| {
        [("ok", of.ok), ("refused", of.refused), ("error", of.errors), ("miscompare", of.miscompares)]
            .map(|(outcome, count)| (with(labels, "outcome", outcome), count))
    });
    counter(encoder, &format!("{prefix}_commands"), "Offload commands by outcome", outcomes.collect())?;
    let by_reason = |counts: fn(&OffloadStatistics) -> &ReasonCounts| {
        let mut found = Vec::new();
        for (labels, of) in rows {
            for (reason, count) in counts(of).most_frequent() {
                found.push((with(labels, "reason", reason.code()), count));
            }
        }
        found
    };
    let refusals = by_reason(|of| &of.refusals);
    counter(encoder, &format!("{prefix}_refusals"), "Refused offload commands by reason", refusals)?;
    let (failures, help) = (by_reason(|of| &of.failures), "Offload commands that failed inside the array, by reason");
    counter(encoder, &format!("{prefix}_failures"), help, failures)?;
    let (gainless, help) = (by_reason(|of| &of.ineffective), "Offload commands that were done without gain, by reason");
    counter(encoder, &format!("{prefix}_ineffective"), help, gainless)?;
    let bytes = rows.iter().map(|(labels, of)| (labels.clone(), of.bytes));
    counter(encoder, &format!("{prefix}_bytes"), "Bytes that offload commands were about", bytes.collect())?;
    let avoided = rows.iter().map(|(labels, of)| (labels.clone(), of.host_bytes_avoided));
    let help = "Bytes that hosts did not have to move";
    counter(encoder, &format!("{prefix}_host_bytes_avoided"), help, avoided.collect())
}

/// Bytes of UNMAP, in whole mapping units and at their edges.
pub(super) fn unmap_bytes(
    encoder: &mut DescriptorEncoder,
    name: &str,
    rows: Vec<(Labels<'_>, (u64, u64))>,
) -> fmt::Result {
    let outcomes = rows.iter().flat_map(|(labels, (deallocated, unaligned))| {
        [("deallocated", *deallocated), ("unaligned", *unaligned)]
            .map(|(outcome, bytes)| (with(labels, "outcome", outcome), bytes))
    });
    counter(encoder, name, "Bytes unmapped in whole mapping units, and at the edges", outcomes.collect())
}

/// Lost races for a lock: COMPARE AND WRITE without equality, and commands that met a reservation.
pub(super) fn lock_conflicts(
    encoder: &mut DescriptorEncoder,
    name: &str,
    rows: Vec<(Labels<'_>, (u64, u64))>,
) -> fmt::Result {
    let kinds = rows.iter().flat_map(|(labels, (ats, reservation))| {
        [("ats", *ats), ("reservation", *reservation)].map(|(kind, count)| (with(labels, "kind", kind), count))
    });
    counter(encoder, name, "Lost races for a lock", kinds.collect())
}
