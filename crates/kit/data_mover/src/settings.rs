//! Switches of the host, with ESXi's names.

/// Work that the host offloads to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `DataMover.HardwareAcceleratedMove`: copies by EXTENDED COPY.
    pub hardware_accelerated_move: bool,
    /// `DataMover.HardwareAcceleratedInit`: zeros by WRITE SAME.
    pub hardware_accelerated_init: bool,
    /// `VMFS3.HardwareAcceleratedLocking`: locks by COMPARE AND WRITE, else by RESERVE and RELEASE.
    pub hardware_accelerated_locking: bool,
    /// `DataMover.MaxHWTransferSize`: bytes of one EXTENDED COPY, and of one WRITE SAME to a unit
    /// that states no maximum.
    pub max_hardware_transfer_bytes: u32,
    /// Bytes of one READ or WRITE when the host moves the data itself.
    pub software_transfer_bytes: u32,
    /// Number of commands in flight per operation.
    pub depth: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hardware_accelerated_move: true,
            hardware_accelerated_init: true,
            hardware_accelerated_locking: true,
            max_hardware_transfer_bytes: 4 << 20,
            // Transfer size of ESXi's data mover without offload.
            software_transfer_bytes: 64 << 10,
            depth: 8,
        }
    }
}

impl Settings {
    /// All primitives off: the host does the work.
    pub fn off() -> Self {
        Self {
            hardware_accelerated_move: false,
            hardware_accelerated_init: false,
            hardware_accelerated_locking: false,
            ..Self::default()
        }
    }
}
