//! Servers under load: the array, and tgt (Debian package `tgt`) for comparison. NFS-Ganesha has a file of its own.

use anyhow::{Context, Result, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Running array with a directory of its own.
pub(crate) struct Windlass {
    /// Process of the array.
    pub(crate) array: Array,
    // Dropped after the array: fields are dropped in declaration order.
    _directory: TempDir,
}

impl Windlass {
    /// Starts an array with its pool in a new directory under `parent`.
    pub(crate) fn start(executable: &Path, parent: &Path, pool_size: &str) -> Result<Self> {
        Self::start_with(executable, parent, pool_size, Vec::new())
    }

    /// Starts an array that serves one share to every client, under its own name; returns the address too.
    pub(crate) fn start_with_share(
        executable: &Path,
        parent: &Path,
        pool_size: &str,
        share: &str,
    ) -> Result<(Self, SocketAddr)> {
        let address = free_portal()?;
        let array = Self::start_with(executable, parent, pool_size, vec!["--nfs".into(), address.to_string()])?;
        array.array.command(&["share", "create", share])?;
        array.array.command(&["access", "grant", share, "--any", "--squash", "none"])?;
        Ok((array, address))
    }

    fn start_with(executable: &Path, parent: &Path, pool_size: &str, arguments: Vec<String>) -> Result<Self> {
        let directory = directory(parent)?;
        let array = Array::start(ArrayOptions {
            executable: executable.to_path_buf(),
            state_directory: directory.path().join("array"),
            portals: vec![free_portal()?],
            pool_size: pool_size.into(),
            arguments,
        })?;
        Ok(Self { array, _directory: directory })
    }
}

/// Server to load beside the array.
#[derive(Clone, Debug)]
pub enum Peer {
    /// Target of iSCSI that runs already.
    Running(RunningPeer),
    /// NFS-Ganesha, which has to be installed.
    Ganesha,
}

/// Target that was started by someone else.
#[derive(Clone, Debug)]
pub struct RunningPeer {
    /// Name of its rows.
    pub name: &'static str,
    /// Process id.
    pub pid: u32,
    /// URL of a logical unit that it may lose.
    pub url: String,
}

impl Peer {
    /// Reads `NAME,PID,URL` or `ganesha`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text == "ganesha" {
            return Ok(Self::Ganesha);
        }
        let mut parts = text.splitn(3, ',');
        let mut next = || parts.next().context("a peer is NAME,PID,URL or ganesha");
        // Rows keep their names for as long as the program runs.
        let name = next()?.to_owned().leak();
        let pid = next()?.parse().context("the second part is a process id")?;
        Ok(Self::Running(RunningPeer { name, pid, url: next()?.to_owned() }))
    }
}

/// Process that is ended with its owner, without a chance to end by itself: it has no data to lose.
#[derive(Debug)]
pub(crate) struct OwnProcess(pub(crate) Child);

impl Drop for OwnProcess {
    fn drop(&mut self) {
        // A process that cannot be killed is left.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Running tgtd with one logical unit.
pub(crate) struct Tgt {
    process: OwnProcess,
    url: String,
    _directory: TempDir,
}

impl Tgt {
    /// Whether tgt is installed.
    pub(crate) fn installed() -> bool {
        program::find("tgtd").is_some() && program::find("tgtadm").is_some()
    }

    /// Starts tgtd with a file of `size_bytes` under `parent`; `synchronous` opens it so that every write is durable
    /// before its reply.
    pub(crate) fn start(parent: &Path, size_bytes: u64, synchronous: bool) -> Result<Self> {
        const TARGET: &str = "iqn.2026-01.org.example:tgt";
        let tgtd = program::find("tgtd").context("tgtd is not installed")?;
        let tgtadm = program::find("tgtadm").context("tgtadm is not installed")?;
        let directory = directory(parent)?;
        let file = directory.path().join("lun");
        File::create(&file)?.set_len(size_bytes)?;
        let portal = free_portal()?;
        // The number of tgt's control socket must be below 32 768.
        let control = (portal.port() % 32_000 + 1).to_string();
        let log = File::create(directory.path().join("tgtd.log"))?;
        let process = Command::new(tgtd)
            .args(["-f", "-C", &control, "--iscsi", &format!("portal={portal}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("cannot start tgtd")?;
        let tgt =
            Self { process: OwnProcess(process), url: format!("iscsi://{portal}/{TARGET}/1"), _directory: directory };
        let started = Instant::now();
        while TcpStream::connect(portal).is_err() {
            ensure!(started.elapsed() < Duration::from_secs(20), "tgtd does not accept connections on {portal}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let file = file.display().to_string();
        let mut unit = vec!["--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", "1", "-b", &file];
        if synchronous {
            unit.extend_from_slice(&["--bsoflags", "sync"]);
        }
        let steps: [&[&str]; 4] = [
            &["--mode", "target", "--op", "new", "--tid", "1", "-T", TARGET],
            &unit,
            &["--mode", "logicalunit", "--op", "update", "--tid", "1", "--lun", "1", "--params", "thin_provisioning=1"],
            &["--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"],
        ];
        for step in steps {
            let mut arguments = vec!["-C", &control, "--lld", "iscsi"];
            arguments.extend_from_slice(step);
            program::require(&tgtadm, &arguments, Duration::from_secs(20))?;
        }
        Ok(tgt)
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// URL of the logical unit.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// Directory in memory, for servers whose disk must cost nothing.
pub(crate) fn memory_directory() -> Result<PathBuf> {
    let path = PathBuf::from("/dev/shm");
    ensure!(path.is_dir(), "/dev/shm is not there; these benchmarks want a pool in memory");
    Ok(path)
}

/// Creates a directory under `parent`.
pub(crate) fn directory(parent: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("windlass-bench-").tempdir_in(parent);
    made.with_context(|| format!("cannot make a directory in {}", parent.display()))
}
