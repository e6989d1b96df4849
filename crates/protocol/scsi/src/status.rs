//! Status codes, SAM-5 §5.3.1.

/// A status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub u8);

impl Status {
    /// The command completed.
    pub const GOOD: Self = Self(0x00);
    /// Sense data describes the error.
    pub const CHECK_CONDITION: Self = Self(0x02);
    /// The requested condition was met.
    pub const CONDITION_MET: Self = Self(0x04);
    /// The logical unit is busy.
    pub const BUSY: Self = Self(0x08);
    /// Another I_T nexus holds a reservation. Carries no sense data.
    pub const RESERVATION_CONFLICT: Self = Self(0x18);
    /// No room in the task set.
    pub const TASK_SET_FULL: Self = Self(0x28);
    /// The task was aborted by another I_T nexus.
    pub const TASK_ABORTED: Self = Self(0x40);
}
