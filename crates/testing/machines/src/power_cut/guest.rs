//! Guest: a Debian Linux kernel and a root file system in memory with busybox, windlass, mke2fs,
//! their shared libraries, and `guest/init`, which is the only service.
//!
//! Kernel and busybox are downloaded with apt-get, unpacked but not installed, and kept in
//! `target/power-cut/guest`; remove that directory to get newer ones. The root file system is
//! rebuilt for every run, since windlass changes.

use crate::initramfs::Archive;
use crate::modules;
use anyhow::{Context, Result, bail, ensure};
use array_process::program;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// First process of the guest.
const INIT: &str = include_str!("guest/init");
/// Debian package that depends on the newest small kernel of the release.
const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";
const BUSYBOX_PACKAGE: &str = "busybox-static";
/// Modules that the guest loads, unless they are built into the kernel; their dependencies are
/// loaded first.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_blk", "virtio_net", "crc32c_generic", "ext4"];
/// Time limit of a download or of unpacking.
const LIMIT: Duration = Duration::from_secs(300);

/// Files that QEMU boots.
pub(crate) struct Guest {
    /// Kernel.
    pub(crate) kernel: PathBuf,
    /// Root file system.
    pub(crate) initramfs: PathBuf,
}

impl Guest {
    /// Creates the guest that runs `windlass`. Downloaded parts are kept in `cache`; the root file
    /// system is written to `directory`.
    pub(crate) fn make(windlass: &Path, cache: &Path, directory: &Path) -> Result<Self> {
        // Without debug information the program is a quarter of the size, and every boot unpacks
        // it.
        let stripped = directory.join("windlass");
        let strip = program::find("strip").context("strip is not installed; it is in the package binutils")?;
        program::require(&strip, &[Path::new("-o"), &stripped, windlass], LIMIT)?;
        let mke2fs = program::find("mke2fs").context("mke2fs is not installed; it is in the package e2fsprogs")?;
        Self::of(INIT, &[("windlass", &stripped), ("mke2fs", &mke2fs)], cache, directory)
    }

    /// Creates a guest with a first process, and programs in its `/programs`.
    pub(crate) fn of(init: &str, programs: &[(&str, &Path)], cache: &Path, directory: &Path) -> Result<Self> {
        ensure!(
            cfg!(target_arch = "x86_64"),
            "the guest's kernel is one for x86-64, and this machine has another processor"
        );
        let parts = cache.join("guest");
        if !parts.is_dir() {
            println!("  getting {KERNEL_PACKAGE} and {BUSYBOX_PACKAGE} for the guest, once");
            let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(cache)?;
            fetch(unfinished.path()).context("cannot make the guest")?;
            std::fs::rename(unfinished.path().join("parts"), &parts)?;
        }
        let initramfs = directory.join("initramfs");
        write_initramfs(init, &parts, programs, &initramfs)?;
        Ok(Self { kernel: parts.join("kernel"), initramfs })
    }
}

/// Downloads and unpacks the packages below `directory`; its `parts` then holds the kernel, busybox
/// and `modules`.
fn fetch(directory: &Path) -> Result<()> {
    let described = output("apt-cache", &["depends", KERNEL_PACKAGE]).unwrap_or_default();
    let kernel_package = described.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let kernel_package = kernel_package.with_context(|| {
        format!("apt-cache does not know {KERNEL_PACKAGE}: this needs Debian, and its package lists (as root: apt-get update)")
    })?;
    // apt-get downloads to the working directory.
    let script = format!(
        "cd \"$1\" && apt-get download -qq {BUSYBOX_PACKAGE} linux-image-{kernel_package} && \
         for package in *.deb; do dpkg-deb -x \"$package\" unpacked || exit 1; done"
    );
    let shell = program::find("sh").context("there is no sh")?;
    let place = directory.to_str().context("the path of the target directory is not UTF-8")?;
    program::require(&shell, &["-c", &script, "sh", place], LIMIT)?;

    let unpacked = directory.join("unpacked");
    let parts = directory.join("parts");
    std::fs::create_dir_all(parts.join("modules"))?;
    let busybox = unpacked.join("bin/busybox");
    std::fs::copy(&busybox, parts.join("busybox")).context("the package of busybox has changed")?;
    let vmlinuz = unpacked.join(format!("boot/vmlinuz-{kernel_package}"));
    std::fs::copy(&vmlinuz, parts.join("kernel")).context("the package of the kernel has changed")?;
    let base = unpacked.to_str().context("the path of the target directory is not UTF-8")?;
    program::require(&busybox, &["depmod", "-b", base, kernel_package], LIMIT)?;
    let tree = unpacked.join("lib/modules").join(kernel_package);
    let mut names = String::new();
    for (name, path) in modules::needed(&tree, &MODULES)? {
        std::fs::copy(&path, parts.join("modules").join(&name))
            .with_context(|| format!("the module {} is not there", path.display()))?;
        names.push_str(&name);
        names.push('\n');
    }
    Ok(std::fs::write(parts.join("modules/order"), names)?)
}

/// Writes the root file system: init, busybox, modules, and the programs with their shared
/// libraries.
fn write_initramfs(init: &str, parts: &Path, programs: &[(&str, &Path)], path: &Path) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut archive = Archive::new(BufWriter::new(file));
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    archive.file("init", init.as_bytes())?;
    archive.file("bin/busybox", &read(&parts.join("busybox"))?)?;
    let order = read(&parts.join("modules/order"))?;
    for name in String::from_utf8_lossy(&order).lines() {
        archive.file(&format!("modules/{name}"), &read(&parts.join("modules").join(name))?)?;
    }
    archive.file("modules/order", &order)?;
    let mut libraries = BTreeMap::new();
    for (name, program) in programs {
        archive.file(&format!("programs/{name}"), &read(program)?)?;
        let listing = output("ldd", &[program.to_str().context("the path of a program is not UTF-8")?])?;
        libraries.extend(shared_libraries(&listing)?);
    }
    for (place, library) in libraries {
        archive.file(&place, &read(&library)?)?;
    }
    // The configuration determines the features of new file systems; without it, mke2fs uses old
    // ones.
    let configuration = Path::new("/etc/mke2fs.conf");
    if configuration.is_file() {
        archive.file("etc/mke2fs.conf", &read(configuration)?)?;
    }
    archive.finish()
}

/// Paths of the libraries that `ldd` lists, in the guest and on this machine. The dynamic loader
/// keeps its path, which programs name.
fn shared_libraries(listing: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for line in listing.lines().map(str::trim) {
        let path = match line.split_once(" => ") {
            Some((name, "not found")) => bail!("the shared library {name} is not there"),
            Some((_, rest)) => rest.split(" (").next().unwrap_or_default(),
            None => line.split(" (").next().unwrap_or_default(),
        };
        // The vDSO has no file, and a static program has no libraries.
        if !path.starts_with('/') {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let place = match line.contains(" => ") {
            true => format!("programs/lib/{name}"),
            false => path.trim_start_matches('/').to_owned(),
        };
        found.push((place, PathBuf::from(path)));
    }
    Ok(found)
}

/// Output of a program.
fn output(name: &str, arguments: &[&str]) -> Result<String> {
    let program = program::find(name).with_context(|| format!("{name} is not installed"))?;
    Ok(program::require(&program, arguments, LIMIT)?.stdout)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn libraries_are_found_and_the_loader_stays_in_its_place() {
        let listing =
            "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        let found = shared_libraries(listing).unwrap();
        let expected = [
            ("programs/lib/libc.so.6", "/lib/x/libc.so.6"),
            ("lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2"),
        ];
        assert_eq!(found, expected.map(|(place, path)| (place.to_owned(), PathBuf::from(path))));
        assert!(shared_libraries("\tlibnone.so => not found\n").is_err());
    }
}
