//! Guest's disk: Debian with the packages of a recipe, built with mmdebstrap and kept in `target/vm`.
//! It is named by the recipe's hash, so that a change of packages or of the guest's scripts creates a
//! new one.
//!
//! The guest has the same Debian release as this machine: `xtask` itself runs in it (for `fsx`),
//! and needs the same C library.

use crate::initramfs::Archive;
use crate::modules;
use anyhow::{Context, Result, bail, ensure};
use array_process::program;
use clap::ValueEnum;
use std::fs::{File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const INITRD_INIT: &str = include_str!("guest/initrd-init");
const INIT: &str = include_str!("guest/init");
/// This kernel has LIO and all initiators; the small kernel for clouds does not.
const KERNEL_PACKAGE: &str = "linux-image-amd64";
/// Packages of every guest.
const PACKAGES: &[&str] = &[
    "bash",
    "coreutils",
    "util-linux",
    "mount",
    "kmod",
    "udev",
    "iproute2",
    "procps",
    "nftables",
    "fio",
    "xfsprogs",
    "e2fsprogs",
];

/// Kernel of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(super) enum Kernel {
    /// The kernel of this machine's Debian release.
    Stable,
    /// The newer one that Debian's backports have for the release.
    Backports,
}

/// Content of a guest's disk.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Recipe {
    pub(super) kernel: Kernel,
    /// Packages in addition to those of every guest.
    pub(super) packages: &'static [&'static str],
    /// Kernel modules that are loaded when the guest starts.
    pub(super) modules: &'static [&'static str],
}

/// Modules that the first root file system loads.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_blk", "crc32c_generic", "mbcache", "ext4"];
/// Parts of the kernel that the guest never loads.
const UNUSED_MODULES: &[&str] = &[
    "sound",
    "drivers/gpu",
    "drivers/media",
    "drivers/net/wireless",
    "drivers/net/ethernet",
    "drivers/usb",
    "drivers/staging",
    "drivers/iio",
    "drivers/hwmon",
    "drivers/input",
    "drivers/bluetooth",
    "net/wireless",
    "net/bluetooth",
    "net/mac80211",
];
/// Time limit of a step of the build.
const LIMIT: Duration = Duration::from_secs(900);

/// Files that QEMU boots.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) kernel: PathBuf,
    pub(super) initramfs: PathBuf,
    /// An ext4 that stays unchanged: QEMU keeps the guest's writes in a temporary overlay.
    pub(super) root: PathBuf,
    /// Kernel modules that are loaded when the guest starts.
    pub(super) modules: &'static [&'static str],
}

impl Image {
    /// Returns the image in `cache`, and builds it if it is missing.
    pub(super) fn make(cache: &Path, recipe: &Recipe) -> Result<Self> {
        ensure!(
            cfg!(target_arch = "x86_64"),
            "the guest's kernel is one for x86-64, and this machine has another processor"
        );
        let suite = release()?;
        let mut hasher = DefaultHasher::new();
        (&suite, KERNEL_PACKAGE, PACKAGES, recipe, INITRD_INIT, INIT, MODULES, UNUSED_MODULES).hash(&mut hasher);
        let place = cache.join(format!("image-{:016x}", hasher.finish()));
        if !place.is_dir() {
            ensure!(
                rustix::process::geteuid().is_root(),
                "the guest's disk is made by mmdebstrap as root, once; run this as root the first time"
            );
            println!("  making the guest's disk (Debian {suite}) in {}: a few minutes, once", cache.display());
            let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(cache)?;
            build(&suite, recipe, unfinished.path()).context("cannot make the guest's disk")?;
            std::fs::rename(unfinished.path().join("image"), &place)?;
        }
        Ok(Self {
            kernel: place.join("kernel"),
            initramfs: place.join("initramfs"),
            root: place.join("root.ext4"),
            modules: recipe.modules,
        })
    }
}

/// Code name of this machine's Debian release.
fn release() -> Result<String> {
    let text = std::fs::read_to_string("/etc/os-release").context("cannot tell which system this is")?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches('"').to_owned())
    };
    match (value("ID").as_deref(), value("VERSION_CODENAME")) {
        (Some("debian"), Some(suite)) => Ok(suite),
        (id, _) => {
            bail!("the guest is of the same Debian release as this machine, which is {}", id.unwrap_or("unknown"))
        }
    }
}

fn run(name: &str, arguments: &[&str]) -> Result<String> {
    let program = program::find(name).with_context(|| format!("{name} is not installed"))?;
    Ok(program::require(&program, arguments, LIMIT)?.stdout)
}

/// Builds the kernel, the first root file system and the disk in `directory/image`.
fn build(suite: &str, recipe: &Recipe, directory: &Path) -> Result<()> {
    let root = directory.join("root");
    let image = directory.join("image");
    std::fs::create_dir(&image)?;
    // The guest does not need /var/lib/dpkg, but it allows a later look at the installed packages.
    let text = root.to_str().context("the path of the target directory is not UTF-8")?;
    let (kernel, backports) = match recipe.kernel {
        Kernel::Stable => (KERNEL_PACKAGE.to_owned(), None),
        Kernel::Backports => (format!("{KERNEL_PACKAGE}/{suite}-backports"), Some(add_backports(suite)?)),
    };
    let include = format!("--include={},{},{kernel}", PACKAGES.join(","), recipe.packages.join(","));
    let quiet_kernel = "--essential-hook=mkdir -p \"$1/etc/initramfs-tools\" && echo update_initramfs=no >\"$1/etc/initramfs-tools/update-initramfs.conf\"";
    // mmdebstrap binds parts of this machine's /dev, /proc and /sys into the new root. In its own
    // mount namespace these bindings end with it, however it ends, so that removing the directory
    // can never reach through them. The namespace also does not outlive this process.
    let mut arguments = vec!["--mount", "--propagation", "private", "setpriv", "--pdeathsig", "KILL", "mmdebstrap"];
    arguments.extend([
        "--variant=essential",
        &include,
        "--aptopt=Apt::Install-Recommends \"false\"",
        "--dpkgopt=force-confold",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        quiet_kernel,
    ]);
    arguments.extend(backports.as_deref());
    arguments.extend([suite, text]);
    run("unshare", &arguments)?;
    let mut versions = std::fs::read_dir(root.join("lib/modules"))?;
    let version = versions.next().context("the guest has no kernel")??.file_name();
    let version = version.to_str().context("the kernel's version is not UTF-8")?.to_owned();
    std::fs::copy(root.join(format!("boot/vmlinuz-{version}")), image.join("kernel")).context("no kernel")?;
    for unused in ["boot", "var/cache/apt", "var/lib/apt/lists", "usr/share/locale"] {
        remove(&root.join(unused))?;
    }
    let modules = root.join("lib/modules").join(&version);
    for unused in UNUSED_MODULES {
        remove(&modules.join("kernel").join(unused))?;
    }
    run("chroot", &[text, "depmod", &version])?;
    if unpack(&modules)? {
        run("chroot", &[text, "depmod", &version])?;
    }
    write_initramfs(&modules, &image.join("initramfs"))?;
    let init = root.join("usr/local/sbin/guest-init");
    std::fs::write(&init, INIT)?;
    std::fs::set_permissions(&init, Permissions::from_mode(0o755))?;
    std::fs::write(root.join("etc/hosts"), "127.0.0.1 localhost windlass-guest\n")?;
    let size = run("du", &["-sm", text])?;
    let mebibytes: u64 = size.split_whitespace().next().context("du says nothing")?.parse()?;
    let disk = image.join("root.ext4");
    let disk = disk.to_str().context("the path of the target directory is not UTF-8")?;
    let room = format!("{}M", mebibytes * 13 / 10 + 200);
    run("mke2fs", &["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", text, disk, &room])?;
    Ok(())
}

/// Option of mmdebstrap that adds the backports of a release, from the archive that apt of this machine uses.
fn add_backports(suite: &str) -> Result<String> {
    let codename = format!("Codename: {suite}");
    let archives = run("apt-get", &["indextargets", "--format", "$(REPO_URI)", &codename, "Created-By: Packages"])?;
    let archive = archives.lines().next().context("apt knows no archive of this release")?;
    Ok(format!(
        "--setup-hook=mkdir -p \"$1/etc/apt/sources.list.d\" && echo 'deb {archive} {suite}-backports main' \
         >\"$1/etc/apt/sources.list.d/backports.list\""
    ))
}

/// Unpacks the modules that the first root file system loads: busybox reads no compressed ones. Returns
/// whether there were any.
fn unpack(tree: &Path) -> Result<bool> {
    let modules = modules::needed(tree, &MODULES)?;
    let packed = modules.iter().filter(|(_, path)| path.extension().is_some_and(|extension| extension == "xz"));
    let packed: Vec<_> = packed.map(|(_, path)| path.as_os_str()).collect();
    if packed.is_empty() {
        return Ok(false);
    }
    let xz = program::find("xz").context("xz is not installed; it is in the package xz-utils")?;
    program::require(&xz, &[&["--decompress".as_ref()], packed.as_slice()].concat(), LIMIT)?;
    Ok(true)
}

/// Removes a directory, if it exists.
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the first root file system: busybox, and the modules for the disk.
fn write_initramfs(tree: &Path, path: &Path) -> Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let mut archive = Archive::new(BufWriter::new(File::create(path)?));
    archive.file("init", INITRD_INIT.as_bytes())?;
    let busybox = program::find("busybox").context("busybox is not installed")?;
    archive.file("bin/busybox", &read(&busybox)?)?;
    let mut names = String::new();
    for (name, path) in modules::needed(tree, &MODULES)? {
        archive.file(&format!("modules/{name}"), &read(&path)?)?;
        names.push_str(&name);
        names.push('\n');
    }
    archive.file("modules/order", names.as_bytes())?;
    for place in ["proc", "sys", "dev", "new"] {
        archive.file(&format!("{place}/.here"), &[])?;
    }
    archive.finish()
}
