//! Steps of operations on much state, counted in comparisons of keys.

use nfs::v4::Stateid;
use nfs::v4::locks::{LockArguments, LockType};
use nfs::v4::open::OpenClaim;

use super::kit::{BOTH, Client, FILE, Kit, USER, new_locker, open_arguments};
use crate::table::comparisons;

/// Opens or locks of one file.
const MANY: u64 = 16_000;
/// Comparisons for each of them: some for each level of each index.
const MOST_FOR_EACH: u64 = 1500;

/// Opens the file by many owners; returns the stateid of the last open.
fn open_often(kit: &mut Kit, client: &Client, times: u64) -> Stateid {
    let mut last = Stateid::INVALID;
    for number in 0..times {
        let arguments = open_arguments(&format!("owner {number}"), BOTH, 0, OpenClaim::Filehandle);
        let request = kit.state.prepare_open(client.reference, &arguments, kit.now).expect("a valid request");
        last = kit.state.open(client.reference, USER, &request, &FILE, kit.now).expect("an open").stateid;
    }
    last
}

/// Locks one byte of the file by each of many owners, the last byte first.
fn lock_often(kit: &mut Kit, client: &Client, open: Stateid) {
    for number in (0..MANY).rev() {
        let (kind, offset_bytes, length_bytes) = (LockType::Write, 2 * number, 1);
        let locker = new_locker(open, &format!("owner {number}"));
        let arguments = LockArguments { kind, reclaim: false, offset_bytes, length_bytes, locker };
        kit.state.lock(client.reference, &FILE, &arguments, kit.now).expect("a lock");
    }
}

fn forget(kit: &mut Kit, client: &Client) -> u64 {
    let key = kit.state.clients.find(client.id).expect("a client");
    let steps = comparisons::of(|| kit.state.remove_client(key, kit.now));
    kit.state.files.check();
    assert_eq!((kit.state.totals(kit.now).holdings, kit.state.totals(kit.now).ranges), (Default::default(), 0));
    steps
}

#[test]
fn many_opens_of_one_file_are_forgotten_one_by_one() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    open_often(&mut kit, &client, MANY);
    let steps = forget(&mut kit, &client);
    assert!(steps < MANY * MOST_FOR_EACH, "{steps} steps");
}

#[test]
fn many_locks_of_one_file_are_forgotten_one_by_one() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let open = open_often(&mut kit, &client, 1);
    lock_often(&mut kit, &client, open);
    let steps = forget(&mut kit, &client);
    assert!(steps < MANY * MOST_FOR_EACH, "{steps} steps");
}
