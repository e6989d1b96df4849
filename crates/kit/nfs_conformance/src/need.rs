//! Requirements of checks.

/// Requirement that may not be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Minor version 2.
    MinorTwo,
    /// A second share of the same server.
    SecondShare,
    /// A harness that restarts the server.
    Restart,
    /// Time: the check waits for a lease to lapse, or is long for another reason.
    Thorough,
}

impl Need {
    /// Reason for skipping a check without this requirement.
    pub fn missing(self) -> &'static str {
        match self {
            Self::MinorTwo => "minor version 2 is not asked for",
            Self::SecondShare => "no --second-share",
            Self::Restart => "the server cannot be restarted from here",
            Self::Thorough => "the check takes long, and --thorough is not given",
        }
    }
}
