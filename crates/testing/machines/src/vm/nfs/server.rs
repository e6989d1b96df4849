//! Servers that the guest mounts.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::free_portal;
use array_process::program;
use clap::ValueEnum;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit until a server accepts connections.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// Kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// The server over a file system in memory, which loses its files when it ends.
    Memory,
}

/// Server with these shares: `s` and `t`, which anybody may change; `read-only`, with the files of `s`;
/// `small`, of 16 MiB.
pub(super) trait Server {
    /// Port of 127.0.0.1 at which it serves.
    fn port(&self) -> u16;
    /// Ends it, and checks what it leaves. Returns what was checked.
    fn finish(self: Box<Self>) -> Result<String>;
}

/// Starts a server of this kind, whose files are in `directory`.
pub(super) fn start(
    kind: Kind,
    _windlass: impl FnOnce() -> Result<PathBuf>,
    directory: &Path,
) -> Result<Box<dyn Server>> {
    match kind {
        Kind::Memory => Ok(Box::new(Memory::start(directory)?)),
    }
}

/// The server over a file system in memory. Dropping it kills the process.
struct Memory {
    process: Child,
    address: SocketAddr,
}

impl Memory {
    fn start(directory: &Path) -> Result<Self> {
        let built = workspace::cargo().args(["build", "--quiet", "--package", "nfs_memory"]).status()?;
        ensure!(built.success(), "nfs_memory cannot be built");
        let executable = workspace::target().join("debug/nfs_memory");
        let address = free_portal()?;
        // The kernel kills the server when this process is killed and cannot do so itself.
        let guard = program::find("setpriv").context("setpriv is not installed; it is in the package util-linux")?;
        let mut command = Command::new(guard);
        command.args(["--pdeathsig", "KILL", "--"]).arg(&executable).arg(address.to_string());
        command.process_group(0).stdin(Stdio::null());
        let log = File::create(directory.join("nfs_memory.log"))?;
        let process = command.stdout(log.try_clone()?).stderr(log).spawn();
        let process = process.with_context(|| format!("cannot start {}", executable.display()))?;
        let mut memory = Self { process, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = memory.process.try_wait()? {
                bail!("nfs_memory ended ({status})");
            }
            ensure!(started.elapsed() < READY_LIMIT, "nfs_memory does not listen at {address}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(memory)
    }
}

impl Server for Memory {
    fn port(&self) -> u16 {
        self.address.port()
    }

    fn finish(mut self: Box<Self>) -> Result<String> {
        match self.process.try_wait()? {
            Some(status) => bail!("nfs_memory ended by itself ({status})"),
            None => Ok("nfs_memory runs to the end".into()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A process that cannot be killed is left.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}
