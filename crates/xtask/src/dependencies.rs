//! `cargo xtask deps`: the architecture as a table of allowed edges, and the licences of all
//! dependencies.
//!
//! The dependency list of each crate is the architecture (ARCHITECTURE.md). This check reads `cargo
//! metadata` and fails for an edge that is not in the table, so that a new edge is a visible line
//! in review.

use crate::re_exports::{self, RE_EXPORTS};
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Layer: a folder below `crates`.
struct Layer {
    /// Folder; empty for the crates beside the layers.
    folder: &'static str,
    /// Layers that its crates may use, in addition to [`EVERYWHERE`].
    uses: &'static [&'static str],
    /// Crates of the layer, each with the workspace crates that it may use.
    crates: &'static [(&'static str, &'static [&'static str])],
}

/// Crates without a layer that every layer may use.
const EVERYWHERE: [&str; 2] = ["random", "text"];

/// Layers from the bottom up. An edge has to be allowed twice: for the crate and for its layer.
const LAYERS: &[Layer] = &[
    Layer {
        folder: "protocol",
        uses: &["protocol"],
        crates: &[
            ("iscsi", &[]),
            ("nfs", &["onc_rpc", "xdr"]),
            ("nfs_state", &["nfs", "onc_rpc", "xdr"]),
            ("onc_rpc", &["xdr"]),
            ("scsi", &[]),
            ("xdr", &["random"]),
        ],
    },
    Layer {
        folder: "engine",
        uses: &["engine"],
        crates: &[
            ("block", &[]),
            ("files", &["random", "vfs"]),
            ("media", &["text"]),
            ("pool", &["block", "media"]),
            ("pool_files", &["block", "files", "media", "pool", "vfs"]),
            ("vfs", &["random"]),
        ],
    },
    Layer {
        folder: "front",
        uses: &["protocol", "engine", "front"],
        crates: &[
            ("nfs_server", &["nfs", "nfs_state", "onc_rpc", "unit", "vfs", "xdr"]),
            ("qos", &["block"]),
            ("replication", &[]),
            ("scsi_target", &["block", "qos", "scsi", "unit"]),
            ("unit", &["block"]),
        ],
    },
    Layer {
        folder: "array",
        uses: &["protocol", "engine", "front", "array", "kit"],
        crates: &[
            ("api", &["explain", "text"]),
            ("cli", &["api", "connect", "explain", "text"]),
            ("configuration", &["api", "identity", "text"]),
            ("connect", &["text"]),
            ("console_assets", &[]),
            ("control", &["explain", "pool", "qos", "random", "text", "unit"]),
            (
                "daemon",
                &[
                    "api",
                    "configuration",
                    "connect",
                    "console_assets",
                    "control",
                    "explain",
                    "history",
                    "identity",
                    "lab",
                    "nfs_state",
                    "notification",
                    "pool",
                    "pool_offline",
                    "reactor",
                    "text",
                    "unit",
                ],
            ),
            ("explain", &[]),
            ("history", &[]),
            ("identity", &[]),
            ("mailbox", &[]),
            ("notification", &["api", "identity", "text"]),
            ("pool_offline", &["control", "media", "pool", "text"]),
            (
                "reactor",
                &[
                    "block",
                    "control",
                    "files",
                    "iscsi",
                    "mailbox",
                    "media",
                    "nfs",
                    "nfs_server",
                    "nfs_state",
                    "onc_rpc",
                    "pool",
                    "pool_files",
                    "qos",
                    "scsi_target",
                    "text",
                    "unit",
                    "vfs",
                ],
            ),
            (
                "windlass",
                &[
                    "api",
                    "cli",
                    "conformance",
                    "daemon",
                    "demo",
                    "explain",
                    "initiator",
                    "lab",
                    "lab_report",
                    "nfs_client",
                    "nfs_conformance",
                    "pool_offline",
                    "probe",
                    "reactor",
                    "text",
                    "virtual_disk",
                ],
            ),
        ],
    },
    Layer {
        folder: "kit",
        uses: &["protocol", "kit"],
        crates: &[
            ("conformance", &["initiator", "iscsi", "random", "verdict"]),
            ("data_mover", &[]),
            ("datastore", &["data_mover"]),
            ("demo", &["array_process", "conformance", "nfs", "nfs_client", "text"]),
            ("initiator", &["data_mover", "iscsi"]),
            ("lab", &["data_mover", "datastore", "initiator", "iscsi", "nfs", "nfs_client", "random", "text"]),
            ("lab_report", &["lab", "text"]),
            ("nfs_client", &["nfs", "onc_rpc", "xdr"]),
            ("nfs_conformance", &["nfs", "nfs_client", "onc_rpc", "random", "verdict", "xdr"]),
            (
                "probe",
                &[
                    "data_mover",
                    "datastore",
                    "initiator",
                    "iscsi",
                    "nfs",
                    "nfs_client",
                    "onc_rpc",
                    "random",
                    "text",
                    "xdr",
                ],
            ),
            ("verdict", &[]),
            ("virtual_disk", &["data_mover", "datastore", "initiator", "iscsi", "nfs", "nfs_client", "random", "text"]),
        ],
    },
    Layer {
        folder: "testing",
        uses: &["protocol", "engine", "front", "array", "kit", "testing"],
        crates: &[
            ("array_process", &[]),
            (
                "array_sim",
                &[
                    "control",
                    "initiator",
                    "iscsi",
                    "media",
                    "nfs",
                    "nfs_client",
                    "pool",
                    "qos",
                    "random",
                    "reactor",
                    "scsi_target",
                ],
            ),
            (
                "bench",
                &["array_process", "initiator", "iscsi", "nfs", "nfs_client", "onc_rpc", "random", "text", "xdr"],
            ),
            (
                "fuzz_targets",
                &[
                    "api",
                    "block",
                    "control",
                    "iscsi",
                    "media",
                    "nfs",
                    "onc_rpc",
                    "pool",
                    "replication",
                    "scsi",
                    "scsi_target",
                    "text",
                    "unit",
                    "xdr",
                ],
            ),
            ("loads", &["conformance", "iscsi", "random"]),
            ("machines", &["array_process", "conformance", "iscsi", "loads", "random", "text"]),
            ("nfs_memory", &["nfs", "nfs_server", "nfs_state", "onc_rpc", "vfs", "xdr"]),
            ("nfs_sim", &["files", "nfs", "nfs_server", "nfs_state", "onc_rpc", "random", "vfs", "xdr"]),
            ("pair_sim", &["random", "replication"]),
            ("sim", &["block", "media", "pool", "random"]),
            ("simulate", &["array_process", "sim", "text"]),
        ],
    },
    Layer {
        folder: "",
        uses: &["protocol", "kit", "testing"],
        crates: &[
            ("random", &[]),
            ("text", &[]),
            (
                "xtask",
                &[
                    "array_process",
                    "bench",
                    "conformance",
                    "fuzz_targets",
                    "loads",
                    "machines",
                    "random",
                    "simulate",
                    "text",
                ],
            ),
        ],
    },
];

/// Edges that violate the layers, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("demo", "array_process"), // the demonstration starts an array
];

/// Layer and table entry of a workspace crate.
fn place(name: &str) -> Option<(&'static Layer, &'static [&'static str])> {
    LAYERS.iter().find_map(|layer| {
        let (_, allowed) = layer.crates.iter().find(|(own, _)| *own == name)?;
        Some((layer, *allowed))
    })
}

/// Whether the layers permit that `from` uses `to`.
fn layered(from: &Layer, name: &str, to: &str) -> bool {
    let Some((layer, _)) = place(to) else { return false };
    EVERYWHERE.contains(&to) || from.uses.contains(&layer.folder) || EXCEPTIONS.contains(&(name, to))
}

/// Third-party crates that only some workspace crates may use.
const RESERVED: &[(&str, &[&str])] = &[
    ("io-uring", &["media"]),
    ("tikv-jemallocator", &["windlass"]),
    (
        "tokio",
        &[
            "array_sim",
            "bench",
            "cli",
            "daemon",
            "demo",
            "virtual_disk",
            "initiator",
            "lab",
            "nfs_client",
            "nfs_memory",
            "nfs_conformance",
            "notification",
            "probe",
            "reactor",
        ],
    ),
    ("axum", &["daemon"]),
    ("redb", &["daemon", "history"]),
    ("lettre", &["notification"]),
    (
        "clap",
        &[
            "array_sim",
            "bench",
            "cli",
            "daemon",
            "machines",
            "nfs_sim",
            "pair_sim",
            "pool_offline",
            "reactor",
            "simulate",
            "windlass",
            "xtask",
        ],
    ),
];

/// Licences that a program under Apache-2.0 or MIT may include. Each dependency must offer at least
/// one of them.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks every package that cargo lists; one check per package.
pub(crate) fn run() -> Result<Tally> {
    let mut command = workspace::cargo();
    command.args(["metadata", "--format-version", "1", "--locked"]);
    let output = command.output().context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata lists no packages")?;
    let mut tally = Tally::default();
    for package in packages {
        let mut complaints = complaints(package);
        complaints.extend(re_exports(package)?);
        for complaint in &complaints {
            println!("  {complaint}");
        }
        tally += Tally::one(complaints.is_empty());
    }
    Ok(tally)
}

/// Violations of a package.
fn complaints(package: &Value) -> Vec<String> {
    let text = |name: &str| package.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    let ours = package.get("source").is_none_or(Value::is_null);
    if !ours {
        let licence = text("license");
        let fine = acceptable(licence);
        return if fine {
            Vec::new()
        } else {
            vec![format!("{name} has the licence {licence:?}, which is not in our list")]
        };
    }
    let dependencies = package.get("dependencies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    let Some((layer, allowed)) = place(name) else {
        return vec![format!("{name} is not in the table of crates/xtask/src/dependencies.rs")];
    };
    let folder = Path::new("crates").join(layer.folder).join(name);
    if !Path::new(text("manifest_path")).parent().is_some_and(|found_in| found_in.ends_with(&folder)) {
        found.push(format!("{name} does not stand in {}", folder.display()));
    }
    // Tests may use any workspace crate; the architecture is in the normal dependencies.
    for dependency in dependencies.iter().filter(|dependency| dependency.get("kind").is_none_or(Value::is_null)) {
        let Some(to) = dependency.get("name").and_then(Value::as_str) else { continue };
        let is_ours = dependency.get("path").is_some_and(Value::is_string);
        if is_ours && !allowed.contains(&to) {
            found.push(format!("{name} may not depend on {to} (ARCHITECTURE.md)"));
        }
        if is_ours && !layered(layer, name, to) {
            found.push(format!("the layer of {name} may not depend on that of {to} (ARCHITECTURE.md)"));
        }
        if RESERVED.iter().any(|(reserved, users)| *reserved == to && !users.contains(&name)) {
            found.push(format!("{name} may not name {to} (ARCHITECTURE.md)"));
        }
    }
    for unused in allowed.iter().filter(|to| !dependencies.iter().any(|dependency| is_normal(dependency, to))) {
        found.push(format!("{name} does not depend on {unused}, so the table need not allow it"));
    }
    found
}

/// Violations by names that a package hands on from another one of ours, or that it gets in this way.
fn re_exports(package: &Value) -> Result<Vec<String>> {
    let text = |name: &str| package.get(name).and_then(Value::as_str).unwrap_or_default();
    let (Some((layer, _)), true) = (place(text("name")), package.get("source").is_none_or(Value::is_null)) else {
        return Ok(Vec::new());
    };
    let name = text("name");
    let dependencies = package.get("dependencies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names = dependencies.iter().filter_map(|dependency| dependency.get("name").and_then(Value::as_str));
    let ours: BTreeSet<&str> = names.filter(|to| place(to).is_some()).collect();
    let sources = Path::new(text("manifest_path")).with_file_name("src");
    let mut found = re_exports::complaints(name, &re_exports::below(&sources, &ours)?);
    for (through, of) in RE_EXPORTS.iter().filter(|(through, _)| ours.contains(through)) {
        if !layered(layer, name, of) {
            found.push(format!("{name} gets names of {of} through {through}, and its layer may not depend on that"));
        }
    }
    Ok(found)
}

/// True for an edge of the program itself, not of its tests or build scripts.
fn is_normal(dependency: &Value, to: &str) -> bool {
    dependency.get("kind").is_none_or(Value::is_null) && dependency.get("name").and_then(Value::as_str) == Some(to)
}

/// Whether an SPDX expression can be satisfied with our list: `OR` needs one licence, `AND` all.
/// Exceptions (`WITH`) only add permissions. False for a malformed expression.
fn acceptable(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = expression.split_ascii_whitespace().peekable();
    let met = any_of(&mut words);
    met == Some(true) && words.next().is_none()
}

type Words<'a, I> = std::iter::Peekable<I>;

/// Whether an expression is met; `None` when it is malformed.
fn any_of<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> Option<bool> {
    let mut met = all_of(words)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words)?;
    }
    Some(met)
}

fn all_of<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> Option<bool> {
    let mut met = term(words)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= term(words)?;
    }
    Some(met)
}

fn term<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> Option<bool> {
    let met = match words.next()? {
        "(" => {
            let met = any_of(words)?;
            words.next_if_eq(&")")?;
            met
        }
        ")" | "OR" | "AND" | "WITH" => return None,
        name => LICENCES.contains(&name),
    };
    if words.next_if_eq(&"WITH").is_some() {
        words.next()?;
    }
    Some(met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn licence_expressions_are_understood() {
        for fine in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(acceptable(fine), "{fine}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-2.0", "(MIT", "MIT OR", "MIT WITH", "OR MIT", "MIT Apache-2.0"] {
            assert!(!acceptable(bad), "{bad}");
        }
    }

    #[test]
    fn an_edge_outside_the_table_is_named() {
        let package = json!({ "name": "pool", "source": null, "manifest_path": "/x/crates/kit/pool/Cargo.toml", "dependencies": [
            { "name": "media", "kind": null, "path": "/x" },
            { "name": "scsi", "kind": null, "path": "/x" },
            { "name": "daemon", "kind": "dev", "path": "/x" },
            { "name": "tokio", "kind": null },
        ]});
        let found = complaints(&package);
        assert_eq!(
            found,
            [
                "pool does not stand in crates/engine/pool",
                "pool may not depend on scsi (ARCHITECTURE.md)",
                "the layer of pool may not depend on that of scsi (ARCHITECTURE.md)",
                "pool may not name tokio (ARCHITECTURE.md)",
                "pool does not depend on block, so the table need not allow it",
            ]
        );
    }
}
