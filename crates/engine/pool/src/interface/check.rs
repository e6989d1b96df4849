//! Report of a check of a pool.

/// Largest number of findings listed; further ones are only counted.
const LISTED: usize = 100;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Number of volumes and snapshots walked.
    pub objects: u64,
    /// Number of map pages verified.
    pub pages: u64,
    /// Number of data blocks verified.
    pub blocks: u64,
    /// Findings, a sentence each, the first hundred.
    pub findings: Vec<String>,
    /// Total number of findings.
    pub count: u64,
}

impl CheckReport {
    /// True if there are no findings.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn find(&mut self, finding: String) {
        self.count += 1;
        if self.findings.len() < LISTED {
            self.findings.push(finding);
        }
    }
}
