//! kill -9 of the array under a client that knows which writes were acknowledged.

use crate::kit::{Array, client};
use nfs::v4::open::{DelegationType, OpenArguments, OpenClaim, OpenHow, share_access, share_deny};
use nfs::v4::operations::Operation;
use nfs::v4::{Stable, StateOwner};
use nfs_client::{Compound, File, Identity, Options, Session, Share};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Environment variable of the process that serves; its value is the directory of the pool.
const SERVES: &str = "WINDLASS_TEST_SERVES_NFS_IN";
/// Name of the test, which the process runs.
const NAME: &str = "kill::a_client_goes_on_after_its_server_was_killed";
/// Bytes of a write.
const WRITE_BYTES: usize = 4096;

/// Array in a process of its own. It is killed when it is dropped.
struct Process(Child);

impl Process {
    fn start(directory: &Path) -> (Self, SocketAddr) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(SERVES, directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| line.split_once("serves at ")?.1.parse().ok());
        (Self(child), address.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Serves until the process is killed. The first one creates the share.
fn serve(directory: &Path) {
    let is_new = !directory.join("p0.pool").exists();
    let array = Array::start(directory);
    if is_new {
        client(array.create_share("vms"));
    }
    println!("serves at {}", array.nfs);
    loop {
        std::thread::park();
    }
}

fn open(how: OpenHow, claim: OpenClaim) -> OpenArguments {
    OpenArguments {
        seqid: 0,
        share_access: share_access::BOTH | share_access::WANT_NO_DELEGATION,
        share_deny: share_deny::BOTH,
        owner: StateOwner { client: 0, owner: b"owner"[..].into() },
        how,
        claim,
    }
}

/// Content of a block: its number in each word.
fn block(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(WRITE_BYTES / 8)
}

/// Writes blocks one after the other, until a write fails. Number of those that were acknowledged.
async fn write_on(share: &Share, file: &File, from: u64, most: u64) -> u64 {
    for number in from..from + most {
        let offset_bytes = number * WRITE_BYTES as u64;
        if share.write(file, offset_bytes, block(number).into(), Stable::FileSync).await.is_err() {
            return number;
        }
    }
    from + most
}

#[test]
fn a_client_goes_on_after_its_server_was_killed() {
    if let Some(directory) = std::env::var_os(SERVES) {
        return serve(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let identity = Identity::root("keeper", [1; 8]);
    let options = Options { timeout: Duration::from_secs(20), patience: Duration::ZERO, ..Options::default() };
    let (process, server) = Process::start(directory.path());
    let (handle, mut acknowledged) = client(async {
        let session = Session::connect(&server.to_string(), &identity, options).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        share.close(file).await.unwrap();
        let opened = share.open_with(share.root(), open(OpenHow::NoCreate, OpenClaim::Null("disk".into()))).await;
        let (file, _) = opened.unwrap();
        let writing = write_on(&share, &file, 0, 100_000);
        let killing = async {
            while share.session().counters().calls < 60 {
                tokio::task::yield_now().await;
            }
            drop(process);
        };
        let (acknowledged, ()) = tokio::join!(writing, killing);
        (file.handle, acknowledged)
    });
    assert!(acknowledged > 10, "{acknowledged}");
    for _ in 0..2 {
        let (process, server) = Process::start(directory.path());
        acknowledged = client(async {
            let session = Session::connect_for_reclaim(&server.to_string(), &identity, options).await.unwrap();
            let share = Share::find(&session, "vms").await.unwrap();
            let claim = OpenClaim::Previous(DelegationType::None);
            let (file, _) = share.open_with(&handle, open(OpenHow::NoCreate, claim)).await.unwrap();
            let complete = Compound::changing([Operation::ReclaimComplete(false)]);
            session.call(&complete).await.unwrap().finish().unwrap();
            for number in 0..acknowledged {
                let (read, _) = share.read(&file, number * WRITE_BYTES as u64, WRITE_BYTES as u32).await.unwrap();
                assert!(read == block(number), "block {number} of {acknowledged} is lost");
            }
            // Without other clients, the grace period ends with the reclaim.
            let end = write_on(&share, &file, acknowledged, 10).await;
            assert_eq!(end, acknowledged + 10);
            end
        });
        drop(process);
    }
}
