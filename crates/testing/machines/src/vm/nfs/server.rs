//! Servers that the guest mounts.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
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
    /// The array.
    Array,
    /// The server over a file system in memory, which loses its files when it ends.
    Memory,
}

/// Server with the shares `s`, `t`, `read-only` and `small`, which any host may use, as any user.
pub(super) trait Server {
    /// Port of 127.0.0.1 at which it serves.
    fn port(&self) -> u16;
    /// Share through which the files of the share `read-only` are written.
    fn source_of_read_only(&self) -> &'static str;
    /// Refuses changes through the share `read-only`.
    fn refuse_changes(&mut self) -> Result<()>;
    /// Leaves at most 16 MiB of room in the share `small`, or again as much as there is.
    fn limit_room(&mut self, limit: bool) -> Result<()>;
    /// The array, unless the server is another.
    fn array(&mut self) -> Option<&mut Array>;
    /// Ends it, and checks what it leaves. Returns what was checked.
    fn finish(self: Box<Self>) -> Result<String>;
}

/// Starts a server of this kind, whose files are in `directory`.
pub(super) fn start(
    kind: Kind,
    windlass: impl FnOnce() -> Result<PathBuf>,
    directory: &Path,
) -> Result<Box<dyn Server>> {
    match kind {
        Kind::Array => Ok(Box::new(Served::start(&windlass()?, directory)?)),
        Kind::Memory => Ok(Box::new(Memory::start(directory)?)),
    }
}

/// The server over a file system in memory: `read-only` has the files of `s`, and `small` a quota of 16 MiB.
/// Dropping it kills the process.
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

    fn source_of_read_only(&self) -> &'static str {
        "s"
    }

    fn refuse_changes(&mut self) -> Result<()> {
        Ok(())
    }

    fn limit_room(&mut self, _limit: bool) -> Result<()> {
        Ok(())
    }

    fn array(&mut self) -> Option<&mut Array> {
        None
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

/// The array. Its shares have the room of its pool, which a thick volume takes up.
struct Served {
    array: Array,
    windlass: PathBuf,
    address: SocketAddr,
}

/// Size of the pool.
const POOL_SIZE: &str = "2G";
/// Room that a full pool has left, and the pages of the map that the volume which fills it up promises too.
const LITTLE_BYTES: u64 = 20 << 20;
/// Volume that fills the pool up.
const BALLAST: &str = "ballast";
/// Time limit of `pool check`.
const CHECK_LIMIT: Duration = Duration::from_secs(120);

impl Served {
    fn start(windlass: &Path, directory: &Path) -> Result<Self> {
        let address = free_portal()?;
        let windlass = windlass.canonicalize()?;
        let array = Array::start(ArrayOptions {
            executable: windlass.clone(),
            state_directory: directory.join("array"),
            portals: vec![free_portal()?],
            pool_size: POOL_SIZE.into(),
            arguments: vec!["--nfs".into(), address.to_string()],
        })?;
        for share in ["s", "t", "read-only", "small"] {
            array.command(&["share", "create", share])?;
            array.command(&["access", "grant", share, "--any", "--squash", "none"])?;
        }
        Ok(Self { array, windlass, address })
    }
}

impl Server for Served {
    fn port(&self) -> u16 {
        self.address.port()
    }

    fn source_of_read_only(&self) -> &'static str {
        "read-only"
    }

    fn refuse_changes(&mut self) -> Result<()> {
        self.array.command(&["access", "grant", "read-only", "--any", "--squash", "none", "--read-only"]).map(drop)
    }

    fn limit_room(&mut self, limit: bool) -> Result<()> {
        if !limit {
            return self.array.command(&["volume", "delete", BALLAST, "--now", "--yes"]).map(drop);
        }
        let free = self.array.pool_number("free_bytes")?;
        let size = format!("{}M", free.saturating_sub(LITTLE_BYTES) >> 20);
        self.array.command(&["volume", "create", BALLAST, "--size", &size, "--reserve", "thick"]).map(drop)
    }

    fn array(&mut self) -> Option<&mut Array> {
        Some(&mut self.array)
    }

    fn finish(mut self: Box<Self>) -> Result<String> {
        self.array.stop()?;
        let pool = self.array.pool_file();
        program::require(&self.windlass, &["pool".as_ref(), "check".as_ref(), pool.as_os_str()], CHECK_LIMIT)?;
        Ok("the array stopped, and pool check finds nothing".into())
    }
}
