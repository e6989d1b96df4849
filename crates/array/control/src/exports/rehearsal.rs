//! Dry run of an export rule: rights that hosts lose because it replaces their present rule, or is more specific than
//! it.

use super::record::{ExportRecord, ExportTo, Squash};
use super::rule::ExportRule;
use super::{ExportGrant, Granted, export_user};
use crate::control::Control;
use crate::directory::Directory;
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::error::ControlError;
use std::collections::BTreeSet;
use std::net::IpAddr;

impl Rehearsed for ExportGrant {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let Granted { share, existing, record } = self.plan(control)?;
        let directory = control.directory();
        let mut rehearsal = Rehearsal::default();
        if let Some(existing) = &existing {
            for why in losses(existing, &record, &share.name) {
                rehearsal = rehearsal.breaks_users([export_user(&directory, &record)], &why);
            }
        }
        let rules: Vec<&ExportRecord> = directory.exports_by_share(share.id).collect();
        let lost = |before: &ExportRecord| losses(before, &record, &share.name);
        for broader in broader_rules(control, &directory, &rules, &record).filter(|broader| !lost(broader).is_empty()) {
            let (narrow, broad) = (directory.export_grantee(record.to), directory.export_grantee(broader.to));
            let message = format!(
                "the rule of {narrow} is more specific than that of {broad}, which gives {}: it decides alone",
                rights(broader)
            );
            rehearsal = rehearsal.warns("narrower-rule", message);
        }
        let connected = control.live().nfs_addresses();
        let before = decided(control, &directory, &rules, &connected);
        let with: Vec<_> = rules.iter().copied().filter(|rule| rule.to != record.to).chain([&record]).collect();
        let after = decided(control, &directory, &with, &connected);
        for (address, (before, after)) in connected.into_iter().zip(before.into_iter().zip(after)) {
            let Some(before) = before.filter(|_| after == Some(&record)) else { continue };
            for why in lost(before) {
                let why = format!("if it uses the share: {why}");
                rehearsal = rehearsal.breaks(BrokenKind::Session, client(&directory, address), why);
            }
        }
        Ok(rehearsal)
    }
}

/// Rights that hosts lose when `after` applies to them instead of `before`.
fn losses(before: &ExportRecord, after: &ExportRecord, share: &str) -> Vec<String> {
    let mut losses = Vec::new();
    if after.read_only && !before.read_only {
        losses.push(format!("it can only read share {share}: its writes fail at once"));
    }
    if after.squash > before.squash {
        let who = if after.squash == Squash::All { "all its users become" } else { "its user root becomes" };
        losses.push(format!("{who} the anonymous user"));
    }
    let anonymous = |rule: &ExportRecord| (rule.anonymous_uid, rule.anonymous_gid);
    if after.squash == before.squash && after.squash != Squash::None && anonymous(after) != anonymous(before) {
        let (user, group) = anonymous(after);
        losses.push(format!("its anonymous user becomes {user}:{group}: it may lose access to its files"));
    }
    if after.privileged_port && !before.privileged_port {
        losses.push("its calls from ports of 1024 and above are refused".to_owned());
    }
    losses
}

/// Rights that a rule gives.
fn rights(rule: &ExportRecord) -> String {
    let access = if rule.read_only { "ro" } else { "rw" };
    let port = if rule.privileged_port { ", privileged ports only" } else { "" };
    format!("{access}, squash {}{port}", rule.squash.name())
}

/// Client of NFS with the name of its host, if it has one.
fn client(directory: &Directory, address: IpAddr) -> String {
    match directory.host_at(address) {
        Some(host) => format!("{address} ({}), connected to some share", host.name),
        None => format!("{address}, connected to some share"),
    }
}

/// Rule that decides about each address, as the server does it.
fn decided<'a>(
    control: &Control,
    directory: &Directory,
    rules: &[&'a ExportRecord],
    addresses: &[IpAddr],
) -> Vec<Option<&'a ExportRecord>> {
    let applied: Vec<ExportRule> = rules.iter().map(|rule| directory.rule(rule)).collect();
    let positions = control.live().decide_exports(applied, addresses);
    positions.into_iter().map(|position| rules.get(position?).copied()).collect()
}

/// Broader rules that have decided about hosts of a rule until now. A rule that is replaced has no broader ones: it has
/// decided itself.
fn broader_rules<'a>(
    control: &Control,
    directory: &Directory,
    rules: &[&'a ExportRecord],
    record: &ExportRecord,
) -> impl Iterator<Item = &'a ExportRecord> {
    let is_new = rules.iter().all(|rule| rule.to != record.to);
    let broader: Vec<&ExportRecord> = rules.iter().copied().filter(|rule| is_broader(rule.to, record.to)).collect();
    let addresses = if is_new { addresses(directory, record.to) } else { Vec::new() };
    let decided = decided(control, directory, rules, &addresses);
    let found: BTreeSet<ExportTo> = decided.into_iter().flatten().map(|rule| rule.to).collect();
    broader.into_iter().filter(move |rule| found.contains(&rule.to))
}

/// True if a rule about these hosts gives way to one about `narrow`, where both are about a host.
fn is_broader(to: ExportTo, narrow: ExportTo) -> bool {
    let exactness = |to| match to {
        ExportTo::Host(_) => (3, 0),
        ExportTo::Group(_) => (2, 0),
        ExportTo::Network(network) => (1, network.prefix_bits()),
        ExportTo::Any => (0, 0),
    };
    exactness(to) < exactness(narrow)
}

/// Addresses of the hosts of a rule; of a network, the first.
fn addresses(directory: &Directory, to: ExportTo) -> Vec<IpAddr> {
    let of_host = |host| directory.host_by_id(host).into_iter().flat_map(|host| host.addresses.iter().copied());
    match to {
        ExportTo::Host(host) => of_host(host).collect(),
        ExportTo::Group(group) => directory.members(group).flat_map(of_host).collect(),
        ExportTo::Network(network) => vec![network.address()],
        ExportTo::Any => Vec::new(),
    }
}
