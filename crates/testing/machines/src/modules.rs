//! Modules of a Linux kernel that a guest loads, in the order of their dependencies.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules that `wanted` and their dependencies consist of, apart from those built into the kernel:
/// file name `NAME.ko` and path of each, after its own dependencies. `tree` is the kernel's folder
/// below `lib/modules`.
pub(crate) fn needed(tree: &Path, wanted: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let read = |name: &str| std::fs::read_to_string(tree.join(name)).with_context(|| format!("no {name}"));
    let dependencies = Dependencies::parse(&read("modules.dep")?);
    let built_in = read("modules.builtin")?;
    let built_in: BTreeSet<_> = built_in.lines().map(name).collect();
    let mut order = Vec::new();
    for module in wanted.iter().filter(|module| !built_in.contains(**module)) {
        dependencies.collect(module, &mut order).with_context(|| format!("the kernel has no module {module}"))?;
    }
    Ok(order.into_iter().map(|path| (format!("{}.ko", name(&path)), tree.join(path))).collect())
}

/// Name of a module from its path: `virtio_rng` for `kernel/drivers/…/virtio-rng.ko`, compressed or not.
fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.trim_end_matches(".xz").trim_end_matches(".ko").replace('-', "_")
}

/// Paths of modules with the modules that each needs, as `depmod` writes them.
struct Dependencies(BTreeMap<String, (String, Vec<String>)>);

impl Dependencies {
    /// Parses `modules.dep`.
    fn parse(text: &str) -> Self {
        let entries = text.lines().filter_map(|line| {
            let (path, needed) = line.split_once(':')?;
            let needed = needed.split_ascii_whitespace().map(name).collect();
            Some((name(path), (path.to_owned(), needed)))
        });
        Self(entries.collect())
    }

    /// Adds the paths of the module and its dependencies to `order`, each once and after its own
    /// dependencies; `None` when one is missing.
    fn collect(&self, name: &str, order: &mut Vec<String>) -> Option<()> {
        let (path, needed) = self.0.get(name)?;
        if order.contains(path) {
            return Some(());
        }
        for other in needed {
            self.collect(other, order)?;
        }
        if !order.contains(path) {
            order.push(path.clone());
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn modules_come_after_their_dependencies() {
        let dependencies = Dependencies::parse(
            "k/virtio-ring.ko: k/virtio.ko\nk/virtio.ko:\nk/blk.ko: k/virtio.ko k/virtio-ring.ko\n",
        );
        let mut order = Vec::new();
        dependencies.collect("blk", &mut order).unwrap();
        dependencies.collect("virtio_ring", &mut order).unwrap();
        assert_eq!(order, ["k/virtio.ko", "k/virtio-ring.ko", "k/blk.ko"]);
        assert_eq!(dependencies.collect("none", &mut order), None);
    }

    #[test]
    fn modules_of_the_kernel_itself_are_left_out() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("modules.dep"), "k/ext-4.ko: k/crc.ko.xz\nk/crc.ko.xz:\n").unwrap();
        std::fs::write(tree.path().join("modules.builtin"), "k/virtio-blk.ko\n").unwrap();
        let found = needed(tree.path(), &["virtio_blk", "ext_4"]).unwrap();
        let expected = [("crc.ko", "k/crc.ko.xz"), ("ext_4.ko", "k/ext-4.ko")];
        assert_eq!(found, expected.map(|(name, path)| (name.to_owned(), tree.path().join(path))));
        assert!(needed(tree.path(), &["none"]).is_err());
    }
}
