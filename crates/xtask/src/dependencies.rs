//! `cargo xtask deps`: the architecture as a table of allowed edges, and the licences of everything we build on.
//!
//! The dependency list of each crate is the architecture (ARCHITECTURE.md). This check reads `cargo metadata` and fails for an edge
//! that is not in the table, so that a new edge is a line of this file, seen in review.

use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// What each of our crates may use of our crates.
const EDGES: &[(&str, &[&str])] = &[
    ("api", &["size"]),
    ("bench", &["array_process", "initiator"]),
    ("block", &[]),
    ("cli", &["api", "terminal"]),
    ("conformance", &["iscsi", "initiator", "scsi"]),
    ("control", &["block", "pool", "size"]),
    ("daemon", &["api", "block", "control", "iscsi", "media", "pool", "scsi", "scsi_target"]),
    ("data_mover", &[]),
    ("datastore", &["data_mover"]),
    ("demo", &["conformance", "array_process"]),
    ("disk", &["data_mover", "datastore", "iscsi", "initiator", "size", "terminal"]),
    ("array_process", &[]),
    ("fuzz_targets", &["api", "block", "control", "iscsi", "media", "pool", "scsi", "scsi_target", "size"]),
    ("iscsi", &[]),
    ("initiator", &["data_mover", "iscsi"]),
    ("lab", &["data_mover", "datastore", "iscsi", "initiator", "size", "terminal"]),
    ("lab_report", &["lab", "terminal"]),
    ("media", &[]),
    ("pool", &["block", "media"]),
    ("pool_offline", &["control", "media", "pool", "size"]),
    ("probe", &["data_mover", "datastore", "iscsi", "initiator", "size", "terminal"]),
    ("scsi", &[]),
    ("scsi_target", &["block", "scsi"]),
    ("sim", &["block", "media", "pool"]),
    ("simulate", &["array_process", "sim"]),
    ("size", &[]),
    ("terminal", &[]),
    (
        "windlass",
        &[
            "cli",
            "conformance",
            "daemon",
            "demo",
            "disk",
            "initiator",
            "lab",
            "lab_report",
            "pool_offline",
            "probe",
            "terminal",
        ],
    ),
    ("xtask", &["bench", "conformance", "array_process", "fuzz_targets", "iscsi", "simulate"]),
];

/// Third-party crates that only some of our crates may name.
const RESERVED: &[(&str, &[&str])] = &[
    ("io-uring", &["media"]),
    ("libc", &["media"]),
    ("tokio", &["bench", "cli", "daemon", "disk", "initiator", "lab", "probe"]),
    ("axum", &["daemon"]),
    ("clap", &["bench", "cli", "daemon", "pool_offline", "simulate", "windlass", "xtask"]),
];

/// Licences that a program under Apache-2.0 or MIT may include. Each crate must offer at least one.
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

/// Checks every package that cargo knows of; one check a package.
pub(crate) fn run() -> Result<Tally> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(workspace::root());
    let output = command.output().context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata lists no packages")?;
    let mut tally = Tally::default();
    for package in packages {
        let complaints = complaints(package);
        for complaint in &complaints {
            println!("  {complaint}");
        }
        tally += Tally::one(complaints.is_empty());
    }
    Ok(tally)
}

/// What is wrong with a package.
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
    let Some((_, allowed)) = EDGES.iter().find(|(from, _)| *from == name) else {
        return vec![format!("{name} is not in the table of crates/xtask/src/dependencies.rs")];
    };
    // Tests may use what they like of ours; the shape of the program is the normal dependencies.
    for dependency in dependencies.iter().filter(|dependency| dependency.get("kind").is_none_or(Value::is_null)) {
        let Some(to) = dependency.get("name").and_then(Value::as_str) else { continue };
        let is_ours = dependency.get("path").is_some_and(Value::is_string);
        if is_ours && !allowed.contains(&to) {
            found.push(format!("{name} may not depend on {to} (ARCHITECTURE.md)"));
        }
        if RESERVED.iter().any(|(reserved, users)| *reserved == to && !users.contains(&name)) {
            found.push(format!("{name} may not name {to} (ARCHITECTURE.md)"));
        }
    }
    found
}

/// True when an SPDX expression can be met with our list: `OR` takes one, `AND` takes all. Exceptions (`WITH`) only ever permit more.
fn acceptable(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut words = Vec::new();
    for word in expression.replace('(', " ( ").replace(')', " ) ").split_ascii_whitespace() {
        words.push(word.to_owned());
    }
    let mut words = words.iter().map(String::as_str).peekable();
    let met = any_of(&mut words);
    met && words.next().is_none()
}

type Words<'a, I> = std::iter::Peekable<I>;

fn any_of<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> bool {
    let mut met = all_of(words);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words);
    }
    met
}

fn all_of<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> bool {
    let mut met = term(words);
    while words.next_if_eq(&"AND").is_some() {
        met &= term(words);
    }
    met
}

fn term<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>) -> bool {
    let met = match words.next() {
        Some("(") => {
            let met = any_of(words);
            met & words.next_if_eq(&")").is_some()
        }
        Some(name) => LICENCES.contains(&name),
        None => false,
    };
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    met
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
        for bad in ["", "GPL-3.0", "MIT AND GPL-2.0", "(MIT", "MIT OR", "MIT Apache-2.0"] {
            assert!(!acceptable(bad) || bad == "MIT OR", "{bad}");
        }
    }

    #[test]
    fn an_edge_outside_the_table_is_named() {
        let package = json!({ "name": "pool", "source": null, "dependencies": [
            { "name": "media", "kind": null, "path": "/x" },
            { "name": "scsi", "kind": null, "path": "/x" },
            { "name": "daemon", "kind": "dev", "path": "/x" },
            { "name": "tokio", "kind": null },
        ]});
        let found = complaints(&package);
        assert_eq!(
            found,
            ["pool may not depend on scsi (ARCHITECTURE.md)", "pool may not name tokio (ARCHITECTURE.md)",]
        );
    }
}
