//! Whether a host may use a share, and the rule that decides: what the NFS server would answer.

use super::ExportView;
use crate::control::Control;
use crate::error::ControlError;
use crate::nfs_clients::NfsClientError;
use crate::request::Request;
use std::net::IpAddr;

/// Finds the rules that decide about the addresses of a host. It changes nothing.
#[derive(Clone, Debug)]
pub struct ExportCheck {
    /// Share by name or id.
    pub share: String,
    /// Host by name or id.
    pub host: String,
}

/// Rules that decide about a host.
#[derive(Clone, Debug)]
pub struct ExportCheckView {
    /// Name of the share.
    pub share: String,
    /// Name of the host.
    pub host: String,
    /// Each address of the host, with the rule that decides about it. Without one it may not use the share.
    pub addresses: Vec<(IpAddr, Option<ExportView>)>,
}

impl Request for ExportCheck {
    type Reply = ExportCheckView;
    const NAME: &'static str = "export-check";

    async fn run(&self, control: &Control) -> Result<ExportCheckView, ControlError> {
        let directory = control.directory();
        let (share, host) = (directory.share(&self.share)?.clone(), directory.host(&self.host)?.clone());
        let rules: Vec<_> = directory.exports_by_share(share.id).cloned().collect();
        drop(directory);
        if control.live().nfs_grace().is_none() {
            return Err(NfsClientError::NotServed.into());
        }
        let view = |address: &IpAddr| {
            let decides = control.live().deciding_export(share.object, *address);
            let rule = decides.and_then(|position| rules.get(position));
            (*address, rule.map(|rule| control.see(|facts| facts.export_view(rule))))
        };
        let addresses = host.addresses.iter().map(view).collect();
        Ok(ExportCheckView { share: share.name, host: host.name, addresses })
    }
}
