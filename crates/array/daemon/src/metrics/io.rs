//! Metrics of reads and writes: the same families for the array, for volumes and for shares.

use super::family::{Labels, counter, histogram};
use control::{IoLatency, IoStatistics};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Labels of the reads and of the writes, with their numbers and latencies.
pub(super) type Row<'a> = ([Labels<'a>; 2], &'a IoStatistics, &'a IoLatency);

/// Numbers, bytes and latencies. `prefix` begins the names.
pub(super) fn families(encoder: &mut DescriptorEncoder, prefix: &str, used: &[Row<'_>]) -> fmt::Result {
    let rows = |value: fn(&IoStatistics) -> [u64; 2]| {
        used.iter().flat_map(|(labels, io, _)| labels.iter().cloned().zip(value(io))).collect()
    };
    let operations = rows(|io| [io.reads, io.writes]);
    counter(encoder, &format!("{prefix}_operations"), "Reads and writes of hosts", operations)?;
    let bytes = rows(|io| [io.read_bytes, io.written_bytes]);
    counter(encoder, &format!("{prefix}_bytes"), "Bytes that hosts read and wrote", bytes)?;
    let latencies = used.iter().flat_map(|(labels, _, of)| labels.iter().cloned().zip([&of.read, &of.write])).collect();
    let help = "From a command's arrival to its status";
    histogram(encoder, &format!("{prefix}_duration_seconds"), help, latencies)
}
