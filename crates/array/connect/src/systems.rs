//! The steps of each system, one file each, and what several systems have in common.

pub(crate) mod esxi;
pub(crate) mod kubernetes;
pub(crate) mod libvirt;
pub(crate) mod linux;
pub(crate) mod linux_share;
pub(crate) mod proxmox;
pub(crate) mod windows;

use crate::quote::sh;
use crate::{ADDRESS, Command, Facts, LUN, Step, System};

/// Administrator's machine, with the command line of the array.
const ARRAY: &str = "where the windlass command is";

/// Longest part of a volume's name in the names that a host makes from it: that of the array's names.
const MAX_NAME_BYTES: usize = 63;
/// Last digits of the NAA designator that make a name unique.
const UNIQUE_DIGITS: usize = 8;

/// Address and port of a portal, apart.
fn split(portal: &str) -> (&str, &str) {
    let (address, port) = portal.rsplit_once(':').unwrap_or((portal, "3260"));
    (address.trim_start_matches('[').trim_end_matches(']'), port)
}

/// First portal; a placeholder if there is none.
fn first(facts: &Facts) -> String {
    facts.portals.first().cloned().unwrap_or_else(|| format!("{ADDRESS}:3260"))
}

/// Name for what a host makes for the volume: an object of Kubernetes, a storage, a file. Lower case letters, digits,
/// `-` and `.`, with a letter first and a letter or digit last. It is that of no other volume, and begins with
/// `windlass-`, so that undo never deletes something of the host's own.
fn own_name(facts: &Facts) -> String {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(is_part) && label.ends_with(is_part) && label.chars().all(|c| is_part(c) || c == '-')
    };
    let volume = facts.volume.as_str();
    if volume.len() <= MAX_NAME_BYTES && volume.split('.').all(is_label) {
        return format!("windlass-{volume}");
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let kept: String = volume.chars().map(plain).take(MAX_NAME_BYTES).collect();
    let end: String = facts.naa.chars().skip(facts.naa.len().saturating_sub(UNIQUE_DIGITS)).collect();
    match kept.trim_matches('-') {
        "" => format!("windlass-{end}"),
        kept => format!("windlass-{kept}-{end}"),
    }
}

/// Name of the initiator, if the host has one alone. Machines of a cluster that are one host have a name each.
fn only_initiator(facts: &Facts) -> Option<&str> {
    match facts.initiators.as_slice() {
        [name] => Some(name),
        _ => None,
    }
}

/// LUN as text; a placeholder if the volume is not granted.
fn lun(facts: &Facts) -> String {
    facts.lun.map_or_else(|| LUN.to_owned(), |lun| lun.to_string())
}

/// Device of a volume on a Linux host, over one path or several: udev links it to the multipath device if there is one.
fn device(facts: &Facts) -> String {
    format!("/dev/disk/by-id/wwn-0x{}", facts.naa)
}

/// What the array shows of the host.
fn watch(system: System, facts: &Facts) -> Step {
    let (host, volume) = (facts.host.as_str(), facts.volume.as_str());
    Step {
        id: "watch",
        title: "Look at it from the array".to_owned(),
        why: "Logins, paths and offload appear within two seconds; nothing is needed from the host.".to_owned(),
        place: ARRAY,
        optional: true,
        once_per_host: false,
        commands: vec![
            sh(&["windlass", "connect", system.name(), host, "--volume", volume, "--watch"]),
            sh(&["windlass", "offload", "stats", volume]),
            sh(&["windlass", "offload", "log", volume]),
        ],
        undo: Vec::new(),
    }
}

/// Necessary step for one volume or share, that nothing undoes.
fn step(id: &'static str, title: &str, why: &str, place: &'static str, commands: Vec<Command>) -> Step {
    Step {
        id,
        title: title.to_owned(),
        why: why.to_owned(),
        place,
        optional: false,
        once_per_host: false,
        commands,
        undo: Vec::new(),
    }
}

/// Necessary step that is entered once for each host, and that nothing undoes.
fn host_step(id: &'static str, title: &str, why: &str, place: &'static str, commands: Vec<Command>) -> Step {
    Step { once_per_host: true, ..step(id, title, why, place, commands) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_different_names_on_a_host_that_every_system_takes() {
        let named = |volume: &str, naa: &str| {
            own_name(&Facts { volume: volume.to_owned(), naa: naa.to_owned(), ..Facts::default() })
        };
        assert_eq!(named("win-dc1", "6001405a3f1c2b4d8e9f001122334455"), "windlass-win-dc1");
        assert_eq!(named("a", "6001405a3f1c2b4d8e9f001122334455"), "windlass-a");
        assert_eq!(named("tmpl.2026", "6001405a3f1c2b4d8e9f001122334455"), "windlass-tmpl.2026");
        // Names that end with '-', or have what one of the systems refuses, do not become that of another volume.
        for (volume, name) in [
            ("vm-", "windlass-vm-22334455"),
            ("vm_1", "windlass-vm-1-22334455"),
            ("VM-1", "windlass-vm-1-22334455"),
            ("a..b", "windlass-a--b-22334455"),
            ("-", "windlass-22334455"),
            ("Ünder", "windlass-nder-22334455"),
        ] {
            assert_eq!(named(volume, "6001405a3f1c2b4d8e9f001122334455"), name, "{volume}");
        }
    }
}
