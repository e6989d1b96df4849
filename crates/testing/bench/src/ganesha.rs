//! NFS-Ganesha, the peer of shares: files in a directory (its back end VFS).

use crate::targets::{OwnProcess, directory};
use anyhow::{Context, Result, ensure};
use array_process::array::free_portal;
use array_process::program;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Packages of Debian that it needs.
pub(crate) const PACKAGES: &str = "nfs-ganesha and nfs-ganesha-vfs";
/// Its program.
const PROGRAM: &str = "ganesha.nfsd";
/// Name of its export below its root.
pub(crate) const EXPORT: &str = "vfs";
/// Time within which it has to accept connections.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// Running NFS-Ganesha with one export.
pub(crate) struct Ganesha {
    process: OwnProcess,
    address: SocketAddr,
    // Dropped after the process: fields are dropped in declaration order.
    _directory: TempDir,
}

impl Ganesha {
    /// Whether it is installed.
    pub(crate) fn installed() -> bool {
        program::find(PROGRAM).is_some()
    }

    /// Starts it with a directory of its own under `parent`, without rpcbind, NFSv3 and grace period.
    pub(crate) fn start(parent: &Path) -> Result<Self> {
        let program = program::find(PROGRAM).context("NFS-Ganesha is not installed")?;
        let directory = directory(parent)?;
        let at = |name: &str| directory.path().join(name);
        let export = at("export");
        for needed in [&export, &at("recovery")] {
            std::fs::create_dir(needed)?;
        }
        let [address, mount, quota] = [free_portal()?, free_portal()?, free_portal()?];
        let settings = format!(
            "NFS_CORE_PARAM {{ NFS_Port = {}; MNT_Port = {}; Rquota_Port = {}; Bind_addr = 127.0.0.1; Protocols = 4; \
             Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}\n\
             NFSv4 {{ Graceless = true; Minor_Versions = 1,2; RecoveryBackend = fs; RecoveryRoot = {}; }}\n\
             EXPORT {{ Export_Id = 1; Path = {}; Pseudo = /{EXPORT}; Access_Type = RW; Squash = No_Root_Squash; \
             SecType = sys; FSAL {{ Name = VFS; }} }}\n",
            address.port(),
            mount.port(),
            quota.port(),
            at("recovery").display(),
            export.display()
        );
        std::fs::write(at("ganesha.conf"), settings)?;
        let process = Command::new(program)
            .arg("-F")
            .args(["-N", "EVENT"])
            .arg("-f")
            .arg(at("ganesha.conf"))
            .arg("-L")
            .arg(at("ganesha.log"))
            .arg("-p")
            .arg(at("ganesha.pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(at("ganesha.err"))?)
            .spawn()
            .context("cannot start NFS-Ganesha")?;
        let mut ganesha = Self { process: OwnProcess(process), address, _directory: directory };
        ganesha.wait()?;
        Ok(ganesha)
    }

    fn wait(&mut self) -> Result<()> {
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let ended = self.process.0.try_wait()?;
            ensure!(ended.is_none(), "NFS-Ganesha ended: {ended:?}");
            ensure!(started.elapsed() < READY_LIMIT, "NFS-Ganesha accepts no connection on {}", self.address);
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// Address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
