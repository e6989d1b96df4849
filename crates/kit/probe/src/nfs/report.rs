//! Report of a probe, for display and for programs.

use super::ProbeError;
use super::primitive::{Primitive, Verdict};
use crate::verdict::{self, Status};
use nfs_client::Session;
use serde_json::json;
use std::fmt::Write;
use text::terminal::harmless;

/// Results for a share.
#[derive(Debug)]
pub struct Report {
    /// Name of the implementation; `None` if the server does not say it.
    pub implementation: Option<String>,
    /// Domain of its maker.
    pub domain: Option<String>,
    /// Highest minor version of NFSv4.
    pub minor: u32,
    /// Slots of a session.
    pub slots: u32,
    /// Longest request in bytes.
    pub max_request_bytes: u32,
    /// Whether the primitives were tried.
    pub write_test: bool,
    /// Verdicts on the primitives; after [`Self::failed`], those obtained before.
    pub verdicts: Vec<Verdict>,
    /// Error that ended the write test early, or kept its directory from being removed.
    pub failed: Option<ProbeError>,
}

impl Report {
    pub(super) fn new(session: &Session, minor: u32, write_test: bool) -> Self {
        let implementation = session.exchanged().implementation.as_ref();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let fore = &session.created().fore_channel;
        Self {
            implementation: implementation.map(|it| text(it.name.as_bytes())),
            domain: implementation.map(|it| text(it.domain.as_bytes())),
            minor,
            slots: fore.max_requests,
            max_request_bytes: fore.max_request_bytes,
            write_test,
            verdicts: Vec::new(),
            failed: None,
        }
    }

    /// Whether everything is supported. NFSv3, which an administrator may switch off, does not count.
    pub fn is_complete(&self) -> bool {
        let missing = |verdict: &&Verdict| verdict.primitive != Primitive::V3 && verdict.status != Status::Supported;
        self.failed.is_none()
            && self.verdicts.len() == Primitive::ALL.len()
            && self.verdicts.iter().find(missing).is_none()
    }

    /// Formats the report as a table.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let name = match (&self.implementation, &self.domain) {
            (Some(name), Some(domain)) => format!("{} ({})", harmless(name), harmless(domain)),
            _ => "not named".into(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "Server {name} · NFSv4.{} · {} slots · requests up to {}",
            self.minor,
            self.slots,
            text::size::format(self.max_request_bytes.into())
        );
        out.push_str(&verdict::headings());
        for verdict in &self.verdicts {
            out.push_str(&verdict.line(verdict.primitive.name()));
        }
        out
    }

    /// Formats the report for programs.
    pub fn json(&self) -> String {
        let primitive = |verdict: &Verdict| verdict.json(verdict.primitive.name());
        let value = json!({
            "implementation": self.implementation,
            "domain": self.domain,
            "minor_version": self.minor,
            "slots": self.slots,
            "max_request_bytes": self.max_request_bytes,
            "write_test": self.write_test,
            "complete": self.is_complete(),
            "failed": self.failed.as_ref().map(ToString::to_string),
            "primitives": self.verdicts.iter().map(primitive).collect::<Vec<_>>(),
        });
        format!("{value:#}\n")
    }
}
