//! What a check of a pool reports.

/// Findings listed in full; more are only counted.
const LISTED: usize = 100;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Volumes and snapshots walked.
    pub objects: u64,
    /// Map pages verified.
    pub pages: u64,
    /// Data blocks verified.
    pub blocks: u64,
    /// What is wrong, a sentence each, the first hundred.
    pub findings: Vec<String>,
    /// Number of findings in all.
    pub count: u64,
}

impl CheckReport {
    /// True when nothing is wrong.
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
