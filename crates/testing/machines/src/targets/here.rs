//! Targets that run on this machine: the array, tgt and istgt, each with two logical units of the
//! same size in memory.

use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use std::fs::{File, Permissions};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time limit of a target's start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Running target. Dropping it ends it.
pub(super) struct Here {
    kind: Kind,
    portal: SocketAddr,
    // Dropped after the process: fields are dropped in declaration order.
    _directory: TempDir,
}

enum Kind {
    Windlass { url: String, _array: Array },
    Tgt { _daemon: Guard },
    Istgt { _daemon: Guard },
}

/// Process that is killed when this value is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // The process has no data to lose; one that cannot be killed is left.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Here {
    /// Starts the target of this name, with logical units of `size_mib` MiB.
    pub(super) fn start(windlass: &Path, name: &str, size_mib: u64) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let directory = tempfile::Builder::new().prefix("windlass-targets-").tempdir_in(parent)?;
        let portal = free_portal()?;
        let kind = match name {
            "windlass" => start_windlass(windlass, directory.path(), portal, size_mib)?,
            "tgt" => Kind::Tgt { _daemon: start_tgt(directory.path(), portal, size_mib)? },
            "istgt" => Kind::Istgt { _daemon: start_istgt(directory.path(), portal, size_mib)? },
            other => bail!("there is no target {other}"),
        };
        Ok(Self { kind, portal, _directory: directory })
    }

    /// URL of the first logical unit.
    pub(super) fn url(&self) -> String {
        match &self.kind {
            Kind::Windlass { url, .. } => url.clone(),
            Kind::Tgt { .. } => format!("iscsi://{}/iqn.2026-01.org.example:tgt/1", self.portal),
            Kind::Istgt { .. } => format!("iscsi://{}/iqn.2026-01.org.example:istgt/0", self.portal),
        }
    }

    /// LUN of the second logical unit.
    pub(super) fn second_lun(&self) -> u16 {
        // LUN 0 of tgt is its controller.
        if matches!(self.kind, Kind::Tgt { .. }) { 2 } else { 1 }
    }
}

fn start_windlass(windlass: &Path, directory: &Path, portal: SocketAddr, size_mib: u64) -> Result<Kind> {
    let array = Array::start(ArrayOptions {
        executable: windlass.to_path_buf(),
        state_directory: directory.join("array"),
        portals: vec![portal],
        pool_size: format!("{}M", size_mib * 2 + 1024),
        arguments: Vec::new(),
    })?;
    for (name, lun) in [("kit0", "0"), ("kit1", "1")] {
        array.command(&["volume", "create", name, "--size", &format!("{size_mib}M")])?;
        array.command(&["access", "grant", name, "--any", "--lun", lun])?;
    }
    let url = array.volume("kit0")?.url().to_owned();
    Ok(Kind::Windlass { url, _array: array })
}

/// Creates the files of two logical units.
fn units(directory: &Path, size_mib: u64) -> Result<[String; 2]> {
    let mut paths = [String::new(), String::new()];
    for (path, number) in paths.iter_mut().zip(0..) {
        let file = directory.join(format!("unit{number}"));
        File::create(&file)?.set_len(size_mib << 20)?;
        *path = file.to_str().context("the temporary directory is not UTF-8")?.to_owned();
    }
    Ok(paths)
}

/// Starts a daemon that stays in the foreground, and waits until it listens.
fn spawn(command: &mut Command, directory: &Path, portal: SocketAddr) -> Result<Guard> {
    let log = File::create(directory.join("log"))?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let guard = Guard(command.spawn().with_context(|| format!("cannot start {command:?}"))?);
    let started = Instant::now();
    while TcpStream::connect(portal).is_err() {
        let log = || std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        ensure!(started.elapsed() < START_LIMIT, "nobody listens on {portal}: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(guard)
}

fn start_tgt(directory: &Path, portal: SocketAddr, size_mib: u64) -> Result<Guard> {
    let tgtd = program::find("tgtd").context("tgtd is not installed")?;
    let tgtadm = program::find("tgtadm").context("tgtadm is not installed")?;
    let files = units(directory, size_mib)?;
    // The number of tgt's control socket must be below 32 768.
    let control = (portal.port() % 32_000 + 1).to_string();
    let mut command = Command::new(tgtd);
    command.args(["-f", "-C", &control, "--iscsi", &format!("portal={portal}")]);
    let guard = spawn(&mut command, directory, portal)?;
    let administer = |arguments: &[&str]| {
        let mut all = vec!["-C", &control, "--lld", "iscsi"];
        all.extend_from_slice(arguments);
        program::require(&tgtadm, &all, START_LIMIT).map(drop)
    };
    administer(&["--mode", "target", "--op", "new", "--tid", "1", "-T", "iqn.2026-01.org.example:tgt"])?;
    for (file, lun) in files.iter().zip(["1", "2"]) {
        administer(&["--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", lun, "-b", file])?;
        let thin =
            ["--mode", "logicalunit", "--op", "update", "--tid", "1", "--lun", lun, "--params", "thin_provisioning=1"];
        administer(&thin)?;
    }
    administer(&["--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"])?;
    Ok(guard)
}

fn start_istgt(directory: &Path, portal: SocketAddr, size_mib: u64) -> Result<Guard> {
    let istgt = program::find("istgt").context("istgt is not installed")?;
    let [first, second] = units(directory, size_mib)?;
    let place = directory.to_str().context("the temporary directory is not UTF-8")?;
    let control = free_portal()?;
    let configuration = format!(
        "[Global]
  NodeBase \"iqn.2026-01.org.example\"
  PidFile {place}/pid
  AuthFile {place}/auth.conf
  MediaDirectory {place}
  LogFacility \"local7\"
  Timeout 30
  NopInInterval 20
  DiscoveryAuthMethod Auto
  MaxSessions 64
  MaxConnections 4
  MaxR2T 32
  MaxOutstandingR2T 16
  DefaultTime2Wait 2
  DefaultTime2Retain 60
  FirstBurstLength 262144
  MaxBurstLength 1048576
  MaxRecvDataSegmentLength 262144
  InitialR2T Yes
  ImmediateData Yes
  DataPDUInOrder Yes
  DataSequenceInOrder Yes
  ErrorRecoveryLevel 0
[UnitControl]
  AuthMethod None
  AuthGroup None
  Portal UC1 {control}
  Netmask 127.0.0.1
[PortalGroup1]
  Portal DA1 {portal}
[InitiatorGroup1]
  InitiatorName \"ALL\"
  Netmask 127.0.0.0/8
[LogicalUnit1]
  TargetName istgt
  Mapping PortalGroup1 InitiatorGroup1
  AuthMethod None
  UseDigest Auto
  UnitType Disk
  QueueDepth 64
  LUN0 Storage {first} Auto
  LUN1 Storage {second} Auto
"
    );
    let path = directory.join("istgt.conf");
    for (name, text) in [(directory.join("auth.conf"), "\n"), (path.clone(), configuration.as_str())] {
        std::fs::write(&name, text)?;
        std::fs::set_permissions(&name, Permissions::from_mode(0o600))?;
    }
    let mut command = Command::new(istgt);
    command.arg("-D").arg("-c").arg(path);
    spawn(&mut command, directory, portal)
}
