//! Options of a run.

use crate::harness::Harness;
use nfs_client::url::Url;
use std::sync::Arc;
use std::time::Duration;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// URL of the share, or of a directory in it.
    pub url: Url,
    /// Name of another share of the server.
    pub second_share: Option<String>,
    /// Minor version: 1 or 2.
    pub minor: u32,
    /// Run long checks, too.
    pub thorough: bool,
    /// Whether choices of Windlass are requirements; `None`: if the server says that it is one.
    pub strict: Option<bool>,
    /// Time limit for each answer.
    pub timeout: Duration,
    /// What surrounds the server, if more than its address is known.
    pub harness: Option<Arc<dyn Harness>>,
}

impl Options {
    /// Options of a run over one share.
    pub fn new(url: Url) -> Self {
        let timeout = Duration::from_secs(10);
        Self { url, second_share: None, minor: 2, thorough: false, strict: None, timeout, harness: None }
    }
}
