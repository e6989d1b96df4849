//! Severities of the array in the words of the interface.

use api::Severity;

/// Severity as the interface has it.
pub(crate) const fn severity(of: control::Severity) -> Severity {
    match of {
        control::Severity::Info => Severity::Info,
        control::Severity::Warning => Severity::Warning,
        control::Severity::Critical => Severity::Critical,
    }
}

/// Severity of the interface as the array has it.
pub(crate) const fn known_severity(of: Severity) -> control::Severity {
    match of {
        Severity::Info => control::Severity::Info,
        Severity::Warning => control::Severity::Warning,
        Severity::Critical => control::Severity::Critical,
    }
}
