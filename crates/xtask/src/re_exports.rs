//! Edges that no `Cargo.toml` shows: a crate that re-exports names of another one hands them on to its users.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Re-exports: a crate, and the workspace crate whose names it hands on.
pub(crate) const RE_EXPORTS: &[(&str, &str)] = &[
    ("api", "text"),                   // the format of sizes is part of the interface
    ("array_sim", "reactor"),          // the rules that a simulation leaves out
    ("conformance", "initiator"),      // addresses, bytes of commands and of sense data
    ("conformance", "iscsi"),          // events and digests, for checks
    ("conformance", "verdict"),        // reports of the kit
    ("control", "pool"),               // the largest volume
    ("control", "qos"),                // what limits have held back
    ("control", "unit"),               // views contain counters, reservations and access states
    ("initiator", "iscsi"),            // iSCSI names in their normal form
    ("nfs_conformance", "nfs_client"), // addresses
    ("nfs_conformance", "verdict"),    // reports of the kit
    ("onc_rpc", "xdr"),                // what its macro expands to
    ("pool", "media"),                 // growth, which the pool passes on to its medium
    ("scsi_target", "scsi"),           // the LUN
    ("unit", "block"),                 // the volume's identifier
    ("virtual_disk", "datastore"),     // formats of disks
    ("virtual_disk", "initiator"),     // addresses
    ("virtual_disk", "text"),          // sizes as users write them
    ("xdr", "random"),                 // values for tests
];

/// Crates among `dependencies` of which the sources below a folder re-export names.
pub(crate) fn below(folder: &Path, dependencies: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(below(&path, dependencies)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(re_exported(&std::fs::read_to_string(&path)?, dependencies));
        }
    }
    Ok(found)
}

/// Crates among `dependencies` of which a source re-exports names. A module of the same name hides a crate, unless
/// the path begins with `::`.
fn re_exported(text: &str, dependencies: &BTreeSet<&str>) -> BTreeSet<String> {
    let lines = || text.lines().map(str::trim_start);
    let is_module =
        |name: &str| lines().any(|line| line.trim_start_matches("pub ").starts_with(&format!("mod {name};")));
    let exports = lines().filter_map(|line| line.strip_prefix("pub use "));
    let first = |path: &str| {
        let (path, outside) = path.strip_prefix("::").map_or((path, false), |path| (path, true));
        let name = path.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned();
        (dependencies.contains(&*name) && (outside || !is_module(&name))).then_some(name)
    };
    exports.filter_map(first).collect()
}

/// Complaints about the re-exports of a crate, which are not those of the table.
pub(crate) fn complaints(name: &str, found: &BTreeSet<String>) -> Vec<String> {
    let listed: BTreeSet<_> =
        RE_EXPORTS.iter().filter(|(from, _)| *from == name).map(|(_, of)| (*of).to_owned()).collect();
    let unlisted = found.difference(&listed).map(|of| {
        format!("{name} re-exports names of {of}, which the table of crates/xtask/src/re_exports.rs does not allow")
    });
    let unused =
        listed.difference(found).map(|of| format!("{name} re-exports no name of {of}, so the table need not allow it"));
    unlisted.chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_re_export_of_another_crate_is_found() {
        let dependencies = BTreeSet::from(["pool", "unit", "text", "media"]);
        let text = "mod unit;\npub use unit::Unit;\npub use ::text::size;\n  pub use pool::{\n A,\n};\npub(crate) use media::Disk;";
        assert_eq!(re_exported(text, &dependencies), BTreeSet::from(["pool".to_owned(), "text".to_owned()]));
        assert_eq!(re_exported("pub use unit;", &dependencies), BTreeSet::from(["unit".to_owned()]));
    }

    #[test]
    fn the_table_and_the_sources_have_to_agree() {
        let found = BTreeSet::from(["media".to_owned()]);
        assert_eq!(complaints("pool", &found), [""; 0]);
        assert_eq!(complaints("block", &found).len(), 1);
        assert_eq!(complaints("pool", &BTreeSet::new()).len(), 1);
    }
}
