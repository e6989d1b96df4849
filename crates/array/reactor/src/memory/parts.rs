//! How the array divides its memory (`--memory`).

/// Part of the memory limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Sixteenths of the limit.
    sixteenths: u64,
    /// Smallest size in bytes, whatever the limit.
    least_bytes: u64,
}

/// Data that hosts read, on its way to them: at least one command of the largest size.
pub(crate) const DATA_IN: Part = Part { sixteenths: 2, least_bytes: TRANSFER_BYTES };
/// Data that hosts write, until the pool has it: at least one command of the largest size.
pub(crate) const DATA_OUT: Part = Part { sixteenths: 2, least_bytes: TRANSFER_BYTES };
/// Receive buffers in which short Data-Out stays. Each is larger than the data in it, so they are counted apart.
pub(crate) const RECEIVE_BUFFERS: Part = Part { sixteenths: 1, least_bytes: 0 };
/// Data that commands read besides their Data-In and Data-Out: comparisons, copies between volumes.
pub(crate) const WORKING: Part = Part { sixteenths: 1, least_bytes: 0 };
/// What the allocator loses. Connections and the management plane have limits of their own, beside this memory.
const UNUSED: Part = Part { sixteenths: 2, least_bytes: 0 };

/// Every part but the pool's.
const BESIDE_THE_POOL: [Part; 5] = [DATA_IN, DATA_OUT, RECEIVE_BUFFERS, WORKING, UNUSED];

/// Largest transfer of one command.
const TRANSFER_BYTES: u64 = iscsi::connection::MAX_TRANSFER_BYTES as u64;

impl Part {
    /// Bytes of this part.
    pub const fn bytes(self, memory_bytes: u64) -> u64 {
        let bytes = memory_bytes / 16 * self.sixteenths;
        if bytes > self.least_bytes { bytes } else { self.least_bytes }
    }

    /// Bytes of this part, as a size in memory.
    pub fn of(self, memory_bytes: u64) -> usize {
        usize::try_from(self.bytes(memory_bytes)).unwrap_or(usize::MAX)
    }
}

/// Bytes of the pool: map pages, reference counts, cached blocks, and blocks that wait for their place. It has what the
/// other parts leave, which is half of the memory, or less where a part has its smallest size.
pub(crate) fn pool(memory_bytes: u64) -> usize {
    let others: u64 = BESIDE_THE_POOL.iter().map(|part| part.bytes(memory_bytes)).sum();
    usize::try_from(memory_bytes.saturating_sub(others)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::MIN_MEMORY_BYTES;

    #[test]
    fn the_parts_are_the_whole_and_the_pool_has_half_of_it() {
        for memory_bytes in [MIN_MEMORY_BYTES, 100 << 20, 512 << 20, 1 << 40] {
            let others: usize = BESIDE_THE_POOL.iter().map(|part| part.of(memory_bytes)).sum();
            assert!(others + pool(memory_bytes) <= usize::try_from(memory_bytes).unwrap_or(usize::MAX));
        }
        assert_eq!(pool(512 << 20), 256 << 20);
        assert!(pool(MIN_MEMORY_BYTES) >= 16 << 20, "the smallest memory leaves the pool enough to work with");
    }

    #[test]
    fn a_command_of_the_largest_size_fits_in_its_direction() {
        for part in [DATA_IN, DATA_OUT] {
            assert_eq!(part.of(MIN_MEMORY_BYTES) as u64, TRANSFER_BYTES);
            assert_eq!(part.of(512 << 20), 64 << 20);
        }
    }
}
