//! Runs one command, and handles SIGINT and SIGTERM.

use crate::account::{Account, Spent};
use crate::error::DiskError;
use crate::kit::{Kit, KitOptions};
use data_mover::DataMover;
use initiator::Interrupts;
use std::io::{self, Write};
use std::rc::Rc;

/// Runs `work` with a kit, on its own runtime, and closes the kit. The first SIGINT or SIGTERM
/// interrupts the data mover, so that the work ends and tidies up; the second one ends the program
/// with status 130. `datastores` says whether a datastore may be mounted. Also returns the work
/// done.
pub fn run<T>(
    options: &KitOptions,
    datastores: bool,
    work: impl AsyncFnOnce(&Kit) -> Result<T, DiskError>,
) -> (Result<T, DiskError>, Spent) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return (Err(DiskError::File { what: "cannot start".into(), error }), Spent::default()),
    };
    tokio::task::LocalSet::new().block_on(&runtime, async {
        // Before any work: an earlier signal ends the program and leaves nothing behind.
        let interrupts = Interrupts::watch();
        let kit = Kit::new(options, datastores);
        let watching = tokio::task::spawn_local(watch(interrupts, kit.mover().clone()));
        let account = Account::open(&kit);
        let result = work(&kit).await;
        let spent = account.spent(&kit);
        kit.close().await;
        watching.abort();
        (result, spent)
    })
}

async fn watch(interrupts: io::Result<Interrupts>, mover: Rc<DataMover>) {
    // Without handlers a signal ends the program at once.
    let Ok(mut interrupts) = interrupts else { return };
    interrupts.next().await;
    mover.interrupt();
    let _closed = writeln!(io::stderr(), "\nstopping; repeat to stop at once");
    interrupts.next().await;
    std::process::exit(130);
}
