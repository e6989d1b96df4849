//! Array in the guest, administered from this machine with windlass's own command line over REST.

use anyhow::{Context, Result};
use array_process::program;
use conformance::commands::BLOCK_BYTES;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use random::sector::number_of;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit of one administrative command.
const LIMIT: Duration = Duration::from_secs(90);
/// Blocks in one READ.
const READ_BLOCKS: u32 = 1024;

/// Access to the array.
pub(super) struct Remote {
    pub(super) windlass: PathBuf,
    /// Ports of 127.0.0.1.
    pub(super) iscsi_port: u16,
    pub(super) http_port: u16,
    pub(super) token_file: PathBuf,
}

impl Remote {
    /// Runs an administrative command, which has to succeed; returns its output.
    pub(super) fn command(&self, arguments: &[&str]) -> Result<String> {
        let server = format!("https://127.0.0.1:{}", self.http_port);
        let token_file = self.token_file.to_str().context("the path of the token is not UTF-8")?;
        let mut all = vec!["--server", &server, "--token-file", token_file, "--insecure", "--yes"];
        all.extend_from_slice(arguments);
        Ok(program::require(&self.windlass, &all, LIMIT)?.stdout)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.command(&[arguments, &["-o", "json"]].concat())?;
        serde_json::from_str(&text).with_context(|| format!("{} printed no JSON:\n{text}", arguments.join(" ")))
    }

    /// Grants a volume to every initiator; returns its URL on this machine.
    pub(super) fn publish(&self, volume: &str) -> Result<Url> {
        self.command(&["access", "grant", volume, "--any"])?;
        let shown = self.json(&["volume", "show", volume])?;
        let url = shown.pointer("/luns/0/iscsi_url").and_then(Value::as_str);
        let url: Url = url.with_context(|| format!("no luns[0].iscsi_url in {shown}"))?.parse()?;
        Ok(Url { host: "127.0.0.1".into(), port: self.iscsi_port, ..url })
    }

    /// Names of all volumes and snapshots, in order; a snapshot has the form `VOLUME@SNAPSHOT`.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for noun in ["volume", "snapshot"] {
            let listing = self.command(&[noun, "list", "-o", "name"])?;
            names.extend(listing.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Reads the first `blocks` blocks of a logical unit; returns the stamp of each.
    pub(super) fn stamps(&self, url: &Url, blocks: u32) -> Result<Vec<u64>> {
        let options = SessionOptions {
            initiator_name: "iqn.2026-01.org.example:power-cut-reader".into(),
            timeout: LIMIT,
            ..SessionOptions::default()
        };
        let mut session = Session::connect(url, &options)?;
        session.clear_unit_attentions()?;
        let mut stamps = Vec::new();
        let mut lba = 0;
        while lba < blocks {
            let count = READ_BLOCKS.min(blocks - lba);
            let data = session.read16(u64::from(lba), count)?;
            for (block, at) in data.chunks(BLOCK_BYTES).zip(lba..) {
                let stamp = number_of(block).with_context(|| format!("{url} block {at} is torn or foreign"))?;
                stamps.push(stamp);
            }
            lba += count;
        }
        session.logout()?;
        Ok(stamps)
    }
}
