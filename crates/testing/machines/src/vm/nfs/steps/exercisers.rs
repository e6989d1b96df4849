//! Random operations on a file, and POSIX's rules: `cargo xtask fsx`, and the programs fsx and pjdfstest
//! of the registry, which this module installs.

use crate::vm::nfs::lab::{Lab, Version};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use array_process::program;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXERCISERS: &str = include_str!("exercisers.sh");
const POSIX: &str = include_str!("posix.sh");
/// Programs, with their versions.
const PROGRAMS: [(&str, &str); 2] = [("fsx", "0.3.2"), ("pjdfstest", "0.2.2")];
/// pjdfstest makes many thousand calls, and the guest may be emulated.
const POSIX_LIMIT: Duration = Duration::from_secs(1200);

/// Random operations on files.
pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in Version::ALL {
        let number = version.number();
        lab.work(version, &[&EXERCISERS.replace("$VERSION", number)])?;
        lab.end_work()?;
    }
    Ok(())
}

/// POSIX's rules.
pub(in crate::vm::nfs) fn posix(lab: &mut Lab) -> Result<()> {
    for version in [Version::V42, Version::V3] {
        let number = version.number();
        lab.work(version, &[])?;
        lab.checks_within(&format!("{number}: "), "/mnt/s/work", &POSIX.replace("$VERSION", number), POSIX_LIMIT)?;
        lab.end_work()?;
    }
    Ok(())
}

/// Installs the programs in `cache`, once, and archives them in `directory`.
///
/// # Errors
///
/// A program cannot be built.
pub(in crate::vm::nfs) fn archive(cache: &Path, directory: &Path) -> Result<PathBuf> {
    let mut names = Vec::new();
    for (name, version) in PROGRAMS {
        let place = cache.join(format!("{name}-{version}"));
        if !place.join("bin").join(name).is_file() {
            println!("  building {name} {version} for the guest, once");
            let mut install = workspace::cargo();
            install.args(["install", "--quiet", "--locked", "--version", version, name, "--root"]).arg(&place);
            install.env("CARGO_TARGET_DIR", directory.join("build"));
            let status = install.status().context("cannot run cargo")?;
            ensure!(status.success(), "cargo cannot install {name} {version}");
        }
        names.extend(["-C".into(), place.join("bin").into_os_string(), name.into()]);
    }
    let archive = directory.join("tools.tar");
    let mut arguments = vec!["-cf".into(), archive.clone().into_os_string()];
    arguments.append(&mut names);
    let tar = program::find("tar").context("tar is not installed")?;
    program::require(&tar, &arguments, Duration::from_secs(60))?;
    Ok(archive)
}
