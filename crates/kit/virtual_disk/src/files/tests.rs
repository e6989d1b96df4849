//! Verbs against the NFS server in memory.

use super::*;
use nfs::v4::Status;
use nfs::v4::operations::{Operation, Outcome};
use nfs_memory::{Lie, Setup, start, start_with};
use std::net::SocketAddr;

const MIB: u64 = 1 << 20;

fn at(server: SocketAddr, name: &str) -> Url {
    format!("nfs://{server}/s/{name}").parse().unwrap()
}

fn done(work: &Work) -> Result<Done, DiskError> {
    run(work, Duration::from_secs(10), &Meter::new("", true))
}

fn space(file: &Url) -> [u64; 3] {
    let found = done(&Work::Stat { file: file.clone() }).unwrap().json;
    ["capacity_bytes", "used_bytes", "unshared_bytes"].map(|name| found[name].as_u64().unwrap())
}

fn create(file: &Url, format: Format) -> Result<Done, DiskError> {
    done(&Work::Create { file: file.clone(), size: 3 * MIB, format })
}

fn cloned(from: &Url, to: &Url, by_host: bool) -> Result<Done, DiskError> {
    done(&Work::Clone { from: from.clone(), to: to.clone(), format: None, by_host })
}

/// Does something with an open file.
fn with<T>(file: &Url, work: impl AsyncFnOnce(&Host, &File) -> Result<T, ClientError>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let host = Host::connect(file, Duration::from_secs(10)).await.unwrap();
        let open = host.open().await.unwrap();
        let result = work(&host, &open).await.unwrap();
        host.share.close(open).await.unwrap();
        result
    })
}

#[test]
fn a_format_says_which_space_a_disk_takes() {
    let server = start().unwrap();
    for (format, used) in [(Format::Thin, 0), (Format::ZeroedThick, 3 * MIB), (Format::EagerZeroedThick, 3 * MIB)] {
        let file = at(server, format.name());
        create(&file, format).unwrap();
        assert_eq!(space(&file)[..2], [3 * MIB, used], "{format:?}");
    }
}

#[test]
fn a_range_is_reserved_and_freed() {
    let file = at(start().unwrap(), "a");
    create(&file, Format::Thin).unwrap();
    let range = Range { offset: MIB, length: Some(MIB) };
    done(&Work::Reserve { file: file.clone(), range }).unwrap();
    assert_eq!(space(&file)[..2], [3 * MIB, MIB]);
    let all = Range { offset: 0, length: None };
    done(&Work::Punch { file: file.clone(), range: all }).unwrap();
    assert_eq!(space(&file), [3 * MIB, 0, 0]);
    let empty = done(&Work::Punch { file, range: Range { offset: 3 * MIB, length: None } });
    assert!(matches!(empty, Err(DiskError::Usage(_))), "{empty:?}");
}

/// A server that lacks CLONE, and COPY too, or has no space.
struct Lacking {
    copy: bool,
    full: bool,
}

impl Lie for Lacking {
    fn ask(&mut self, operation: Operation) -> Operation {
        match operation {
            Operation::Clone(_) => Operation::GetFilehandle,
            Operation::Copy(_) if self.copy => Operation::GetFilehandle,
            other => other,
        }
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        match asked {
            Operation::Clone(_) => Outcome::Clone(Err(Status::NOTSUPP)),
            Operation::Copy(_) if self.copy => {
                Outcome::Copy(Err(nfs::v4::offload::CopyFailure::Other(Status::NOTSUPP)))
            }
            Operation::Allocate(_) if self.full => Outcome::Allocate(Err(Status::NOSPC)),
            _ => outcome,
        }
    }
}

#[test]
fn a_clone_is_made_as_the_server_can_and_says_how() {
    let lacking = |copy| start_with(Setup::lying(move || Lacking { copy, full: false })).unwrap();
    for (server, by_host, method, reason) in [
        (start().unwrap(), false, "clone", None),
        (start().unwrap(), true, "host", Some("-N")),
        (lacking(false), false, "copy", None),
        (lacking(true), false, "host", Some("CLONE: NOTSUPP, COPY: NOTSUPP")),
    ] {
        let (source, to) = (at(server, "source"), at(server, "to"));
        create(&source, Format::ZeroedThick).unwrap();
        // Data behind a hole of more than one call.
        let data = bytes::Bytes::from(random::pattern(1, MIB));
        let stable = nfs::v4::Stable::FileSync;
        with(&source, async |host, file| host.share.write_range(file, 2 * MIB, data.clone(), stable).await);
        let found = cloned(&source, &to, by_host).unwrap().json;
        let content = with(&to, async |host, file| host.share.read_range(file, 0, 4 * MIB).await);
        assert!(content[..2 << 20].iter().all(|byte| *byte == 0) && content[2 << 20..] == data, "{method}");
        assert_eq!((found["method"].as_str(), found["reason"].as_str()), (Some(method), reason));
        assert_eq!(space(&to)[0], 3 * MIB);
        let again = cloned(&source, &to, by_host).unwrap_err();
        assert_eq!((again.exit_status(), again.code()), (4, "conflict"));
    }
    let (one, other) = (at(start().unwrap(), "a"), at(start().unwrap(), "b"));
    create(&one, Format::Thin).unwrap();
    let found = cloned(&one, &other, false).unwrap().json;
    assert_eq!(found["reason"].as_str(), Some("the files are on different servers"));
}

#[test]
fn a_failed_verb_leaves_no_file() {
    let file = at(start_with(Setup::lying(|| Lacking { copy: false, full: true })).unwrap(), "a");
    let full = create(&file, Format::ZeroedThick).unwrap_err();
    assert_eq!((full.exit_status(), full.code()), (6, "no-space"), "{full}");
    let missing = done(&Work::Stat { file: file.clone() }).unwrap_err();
    assert_eq!((missing.exit_status(), missing.code()), (3, "not-found"));
    let share = done(&Work::Stat { file: Url { path: Vec::new(), ..file } }).unwrap_err();
    assert_eq!(share.exit_status(), 2, "{share}");
}
