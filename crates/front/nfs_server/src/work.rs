//! Work of offload operations, for statistics.

use unit::{OffloadWork, Reason};

/// Work of a clone of `bytes`, which neither leave the array nor come back.
pub fn cloned(bytes: u64) -> OffloadWork {
    OffloadWork { bytes, host_bytes_avoided: bytes.saturating_mul(2), cloned_bytes: bytes, ..OffloadWork::default() }
}

/// Work of promising space for `bytes`.
pub fn reserved(bytes: u64) -> OffloadWork {
    OffloadWork { bytes, ..OffloadWork::default() }
}

/// Work of freeing a range of a file: whole grains inside the file are free afterwards, the edges are zeros.
pub fn freed(offset_bytes: u64, length_bytes: u64, size_bytes: u64, grain_bytes: u64) -> OffloadWork {
    let end_bytes = offset_bytes.saturating_add(length_bytes).min(size_bytes);
    let bytes = end_bytes.saturating_sub(offset_bytes);
    let (start, end) = (offset_bytes.div_ceil(grain_bytes), end_bytes / grain_bytes);
    let deallocated_bytes = end.saturating_sub(start).saturating_mul(grain_bytes);
    OffloadWork {
        bytes,
        deallocated_bytes,
        unaligned_bytes: bytes.saturating_sub(deallocated_bytes),
        not_offloaded: (bytes > 0 && deallocated_bytes == 0).then(|| (Reason::BelowGrain, format!("{bytes} bytes"))),
        ..OffloadWork::default()
    }
}
