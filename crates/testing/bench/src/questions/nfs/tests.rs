//! The rows against the server in memory, as it is and with lies.

use super::{Row, turn};
use crate::nfs::tree::{Server, Sizes, Tree};
use anyhow::Result;
use nfs::v4::Stable;
use nfs::v4::attributes::GetAttributesArguments;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Name};
use nfs_memory::{Lie, Setup};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SIZES: Sizes = Sizes { files: 20, large_bytes: 1 << 20, cached_bytes: 1 << 18, source_bytes: 1 << 20 };
const TIME: Duration = Duration::from_millis(10);

/// What a lying server executes in place of an operation.
type Ask = fn(Operation) -> Operation;

/// Changes operations or results once the tree is built.
struct Liar {
    lies: Arc<AtomicBool>,
    ask: Ask,
    answer: fn(Outcome) -> Outcome,
}

impl Lie for Liar {
    fn ask(&mut self, operation: Operation) -> Operation {
        if self.lies.load(Ordering::Relaxed) { (self.ask)(operation) } else { operation }
    }

    fn answer(&mut self, _asked: &Operation, outcome: Outcome) -> Outcome {
        if self.lies.load(Ordering::Relaxed) { (self.answer)(outcome) } else { outcome }
    }
}

/// Runs these rows in order on a server that lies, if at all, when its tree is built.
fn run(rows: &[&str], lie: bool, ask: Ask, answer: fn(Outcome) -> Outcome) -> Result<u64> {
    let lies = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&lies);
    let address = nfs_memory::start_with(Setup::lying(move || Liar { lies: told, ask, answer }))?;
    let server = Server { name: "memory", pid: std::process::id(), address, share: "s" };
    let tree = Tree::build(&server, SIZES)?;
    lies.store(lie, Ordering::Relaxed);
    let mut created = 0;
    let mut operations = 0;
    // The second turn finds what the first one has left.
    for seed in [1, 2] {
        for row in rows {
            let row = Row::named(row, 4)?;
            operations += turn(&server, &tree, &row, TIME, seed, &mut created)?.operations;
        }
    }
    Ok(operations)
}

#[test]
fn every_row_runs_and_leaves_nothing_behind() {
    for row in &super::ROWS {
        let rows = if row.name == "REMOVE" { vec!["OPEN (create) + CLOSE", "REMOVE"] } else { vec![row.name] };
        if row.name == "OPEN (create) + CLOSE" {
            continue;
        }
        let operations = run(&rows, false, |operation| operation, |outcome| outcome);
        assert!(operations.as_ref().is_ok_and(|count| *count > 0), "{}: {operations:?}", row.name);
    }
}

#[test]
fn a_wrong_answer_ends_the_benchmark() {
    let executed: [(&str, &[&str], Ask); 5] = [
        ("data of another place", &["READ 4k cached"], |operation| match operation {
            Operation::Read(mut arguments) => {
                arguments.offset_bytes ^= 4096;
                Operation::Read(arguments)
            }
            other => other,
        }),
        ("another file", &["LOOKUP GETFH GETATTR"], |operation| match operation {
            Operation::Lookup(name) if name.as_bytes().starts_with(b"file-") => {
                Operation::Lookup(Name::from(crate::nfs::tree::name(0).as_str()))
            }
            other => other,
        }),
        ("fewer attributes", &["GETATTR"], |operation| match operation {
            Operation::GetAttributes(_) => {
                Operation::GetAttributes(GetAttributesArguments { wanted: Bitmap::new([1]) })
            }
            other => other,
        }),
        ("half of the data", &["WRITE 4k UNSTABLE"], |operation| match operation {
            Operation::Write(mut arguments) => {
                arguments.data = arguments.data.as_bytes().slice(..2048).to_vec().into();
                Operation::Write(arguments)
            }
            other => other,
        }),
        ("a clone of nothing", &["CLONE 64M"], |operation| match operation {
            Operation::Clone(mut arguments) => {
                arguments.source_offset_bytes = SIZES.source_bytes - 4096;
                arguments.destination_offset_bytes = SIZES.source_bytes - 4096;
                Operation::Clone(arguments)
            }
            other => other,
        }),
    ];
    for (lie, rows, ask) in executed {
        assert!(run(rows, true, ask, |outcome| outcome).is_err(), "{lie}");
    }
    let less_durable: fn(Outcome) -> Outcome = |outcome| match outcome {
        Outcome::Write(Ok(mut written)) => {
            written.committed = Stable::Unstable;
            Outcome::Write(Ok(written))
        }
        other => other,
    };
    assert!(
        run(&["WRITE 4k FILE_SYNC"], true, |operation| operation, less_durable).is_err(),
        "a write that can be lost"
    );
}

#[test]
fn files_that_were_not_removed_are_noticed() {
    let kept: Ask = |operation| match operation {
        Operation::Remove(_) => Operation::Lookup(Name::from("file-00000000.img")),
        other => other,
    };
    // Results must be those of REMOVE.
    let removed: fn(Outcome) -> Outcome = |outcome| match outcome {
        Outcome::Lookup(Ok(())) => Outcome::Remove(Ok(nfs::v4::ChangeInfo { atomic: true, before: 1, after: 2 })),
        other => other,
    };
    assert!(run(&["OPEN (create) + CLOSE", "REMOVE"], true, kept, removed).is_err());
}
