//! `windlass demo`: a temporary array, a template disk with a real file system, and the same work done by the host
//! and by the array. Then the same with files of a share.
//!
//! Third-party programs move the data of volumes: `mkfs.ext4` creates the file system, `qemu-img` and
//! `qemu-io` are the initiators. The conformance kit runs only the race for a lock, which none of them
//! can run. The host kit's NFS client, which needs no mount, works with the files. The demo starts the
//! array, runs the programs, and reads three meters: the clock, the byte counter of the loopback
//! interface, and the pool's used space. It ends with a table, and then leaves the array running for
//! the user to try, until Ctrl-C.
#![forbid(unsafe_code)]

mod files;
mod lock;
mod table;
mod template;
mod tools;
mod work;

use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Parameters of the demo.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stop after the table instead of leaving the array running.
    pub once: bool,
    /// Directory in which the temporary directory is created; the system's default when `None`.
    pub directory: Option<PathBuf>,
    /// Smaller disks and fewer rounds, for tests.
    pub small: bool,
}

/// Result of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of checks that held.
    pub passed: usize,
    /// Number of checks that failed.
    pub failed: usize,
}

/// Runs the demo with the array of `executable` (the `windlass` program), printing to standard output.
///
/// Errors: the demo could not be carried out. A check that does not hold is counted in the
/// [`Outcome`].
pub fn run(executable: &Path, options: &Options) -> Result<Outcome> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).context("cannot watch for Ctrl-C")?;
    }
    match carry_out(executable, options, &interrupted) {
        // Ctrl-C also ends the client program that is running, whose failure is then expected.
        Err(_) if interrupted.load(Ordering::Relaxed) => bail!("interrupted; the temporary array was removed"),
        result => result,
    }
}

fn carry_out(executable: &Path, options: &Options, interrupted: &AtomicBool) -> Result<Outcome> {
    let tools = tools::Tools::find()?;
    let sizes = if options.small { work::Sizes::SMALL } else { work::Sizes::FULL };
    let parent = options.directory.clone().unwrap_or_else(std::env::temp_dir);
    check_space(&parent, sizes.disk_space_bytes())?;
    let directory = tempfile::Builder::new()
        .prefix("windlass-demo-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot make a directory in {}", parent.display()))?;

    let nfs = free_portal()?;
    let mut array = Array::start(ArrayOptions {
        executable: executable.to_path_buf(),
        state_directory: directory.path().join("array"),
        portals: vec![free_portal()?, free_portal()?],
        pool_size: "16G".into(),
        arguments: vec!["--nfs".into(), nfs.to_string()],
    })?;
    say(&format!(
        "array ready in {}: everything is in {}",
        text::duration::measured(array.started_in()),
        directory.path().display()
    ))?;

    let stage = work::Stage { array: &array, nfs, tools: &tools, directory: directory.path(), sizes, interrupted };
    let report = stage.run(&mut |line| say(line))?;
    say("")?;
    for line in report.lines() {
        say(&line)?;
    }
    let outcome = report.outcome();
    if !options.once {
        for line in invitation(&array, nfs, executable)? {
            say(&line)?;
        }
        wait_for_the_end(&mut array, interrupted)?;
        say("")?;
        say("stopping the array and removing its files")?;
    }
    array.stop()?;
    directory.close().context("cannot remove the temporary directory")?;
    Ok(outcome)
}

/// Prints a line immediately, also into a pipe.
fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("cannot print")
}

/// Refuses a directory with too little space, before anything is written to it.
fn check_space(directory: &Path, needed_bytes: u64) -> Result<()> {
    let file_system = rustix::fs::statvfs(directory)
        .with_context(|| format!("cannot use {} for temporary files", directory.display()))?;
    let free_bytes = file_system.f_bavail.saturating_mul(file_system.f_frsize);
    ensure!(
        free_bytes >= needed_bytes,
        "the demo needs {} in {}, which has {} free; choose another directory with TMPDIR=/some/directory",
        text::size::format(needed_bytes),
        directory.display(),
        text::size::format(free_bytes)
    );
    Ok(())
}

/// Commands that the user can try on the running array.
fn invitation(array: &Array, nfs: SocketAddr, executable: &Path) -> Result<Vec<String>> {
    let template = array.volume(work::TEMPLATE)?;
    let copy = array.volume(work::ARRAY_COPY)?;
    let windlass = executable.display();
    let portals: Vec<_> = array.options().portals.iter().map(ToString::to_string).collect();
    let first_portal = portals.first().cloned().unwrap_or_default();
    Ok(vec![
        String::new(),
        "The array keeps running until you press Ctrl-C; then it stops and its files are removed.".into(),
        format!("  portals   {}", portals.join("  ")),
        format!("  template  {}", template.url()),
        format!("  copy      {}", copy.url()),
        format!("  share     nfs://{nfs}/{}", files::SHARE),
        String::new(),
        "Try next, in another terminal:".into(),
        format!("  export WINDLASS_SERVER={}", array.server()),
        format!("  {windlass} volume list"),
        format!("  {windlass} offload stats"),
        format!("  {windlass} offload log"),
        format!("  {windlass} volume clone {} mine && {windlass} access grant mine --any", work::TEMPLATE),
        format!("  qemu-img convert -n -C -f raw -O raw {} {}", template.url(), copy.url()),
        format!("  {windlass} offload stats --layout vnx"),
        format!("  {windlass} share stat {}", files::SHARE),
        format!("  {windlass} probe nfs://{nfs}/{} --write-test", files::SHARE),
        format!("  sudo mount -t nfs -o vers=4.2,port={} {}:/{} /mnt", nfs.port(), nfs.ip(), files::SHARE),
        format!("  sudo iscsiadm -m discovery -t sendtargets -p {first_portal}"),
    ])
}

/// Waits for Ctrl-C; errors when the array ends before.
fn wait_for_the_end(array: &mut Array, interrupted: &AtomicBool) -> Result<()> {
    while !interrupted.load(Ordering::Relaxed) {
        if !array.alive()? {
            bail!("the array ended unexpectedly; end of its log:\n{}", array.log_end());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
