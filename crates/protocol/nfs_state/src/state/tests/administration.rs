//! Lists, and what an administrator revokes.

use nfs::v4::Status;
use nfs::v4::locks::LockType;
use nfs::v4::session::sequence_status;

use super::kit::{BOTH, FILE, Kit, OTHER_FILE, READ, WRITE, exchange};
use crate::FileKey;
use crate::state::ClientStanding;

#[test]
fn lists_come_in_parts_and_have_everything_once() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    kit.exchange_id(9, &exchange("z", 1, 0)).expect("an id");
    for number in 0..7 {
        let file = FileKey { share: 1, file: number };
        let open = kit.open(&client, "o", &file, BOTH, 0).expect("an open").stateid;
        for at in 0..number {
            let locker = super::kit::new_locker(open, "l");
            kit.lock_by(&client, &file, LockType::Write, (at * 10, 5), locker).expect("a lock");
        }
    }
    let expected: Vec<(u64, u64)> = (0..7).flat_map(|file| (0..file).map(move |at| (file, at))).collect();
    for most in 1..9 {
        assert_eq!(locks_in_parts(&kit, Some(1), most), expected, "{most}");
        assert_eq!(locks_in_parts(&kit, Some(2), most), [], "{most}");
    }
    let (mut opens, mut from) = (Vec::new(), Some(0));
    while let Some(position) = from {
        let page = kit.state.list_opens(position, 2);
        opens.extend(page.elements.iter().map(|open| open.file.file));
        from = page.next;
    }
    assert_eq!(opens, [0, 1, 2, 3, 4, 5, 6]);
    let clients = kit.state.list_clients(0, 9, kit.now);
    let standings: Vec<_> = clients.elements.iter().map(|client| (client.standing, client.holdings.opens)).collect();
    assert_eq!(standings, [(ClientStanding::Active, 7), (ClientStanding::Unconfirmed, 0)]);
    assert_eq!((clients.next, kit.state.list_clients(0, 1, kit.now).next), (None, Some(1)));
    let session = &kit.state.list_sessions(0, 9).elements[0];
    assert_eq!((session.client, session.slots, session.busy, session.connections), (client.id, 8, 0, 1));
    assert_eq!(kit.state.list_opens(u64::MAX, 9).elements, []);
}

/// File and number of each lock, from a list in parts.
fn locks_in_parts(kit: &Kit, share: Option<u64>, most: usize) -> Vec<(u64, u64)> {
    let (mut locks, mut from) = (Vec::new(), Some(0));
    while let Some(position) = from {
        let page = kit.state.list_locks(share, position, most);
        assert!(page.elements.len() <= most);
        locks.extend(page.elements.iter().map(|lock| (lock.file.file, lock.offset_bytes / 10)));
        from = page.next;
    }
    locks
}

#[test]
fn owners_of_the_same_range_are_listed_once_each_also_if_locks_go_meanwhile() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let open = kit.open(&client, "o", &FILE, BOTH, 0).expect("an open").stateid;
    for owner in ["l", "m", "n"] {
        for at in 0..10 {
            let locker = super::kit::new_locker(open, owner);
            kit.lock_by(&client, &FILE, LockType::Read, (at * 10, 5), locker).expect("a lock");
        }
    }
    let expected: Vec<(u64, u64)> = (0..30).map(|number| (FILE.file, number / 3)).collect();
    for most in 1..9 {
        assert_eq!(locks_in_parts(&kit, None, most), expected, "{most}");
    }
    let position = kit.state.list_locks(None, 0, 4).next.expect("a second part");
    assert_eq!(kit.state.revoke_client(client.id, kit.now), Ok(()));
    let page = kit.state.list_locks(None, position, 4);
    assert_eq!((page.elements, page.next), (Vec::new(), None));
}

/// A part looked at as many files as ranges were wanted: a list of one range took as many parts as there are files.
#[test]
fn a_part_of_the_list_of_locks_looks_at_256_files_however_few_locks_are_wanted() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let mut last = None;
    for file in 0..600 {
        let key = crate::FileKey { file, ..FILE };
        last = Some((key, kit.open(&client, "o", &key, BOTH, 0).expect("an open").stateid));
    }
    let (key, open) = last.expect("a file");
    let locker = super::kit::new_locker(open, "l");
    kit.lock_by(&client, &key, LockType::Read, (0, 5), locker).expect("a lock");
    let (mut from, mut parts) = (Some(0), Vec::new());
    while let Some(position) = from {
        let page = kit.state.list_locks(None, position, 1);
        parts.push(page.elements.len());
        from = page.next;
    }
    assert_eq!(parts, [0, 0, 1]);
}

#[test]
fn a_client_learns_that_its_state_was_revoked() {
    let mut kit = Kit::new();
    let client = kit.client("a", 1);
    let open = kit.open(&client, "o", &FILE, BOTH, BOTH).expect("an open").stateid;
    let lock = kit.lock(&client, open, "l", LockType::Write, (0, 9)).expect("a lock");
    kit.records();
    assert_eq!(kit.state.revoke_client(client.id ^ 1 << 40, kit.now), Err(Status::STALE_CLIENTID));
    assert_eq!(kit.state.revoke_client(client.id, kit.now), Ok(()));
    kit.state.files.check();
    assert_eq!((kit.records(), kit.released()), (vec!["-a".to_owned()], vec![FILE]));
    assert_eq!(kit.renew(&client, 1).status_flags, sequence_status::ADMIN_STATE_REVOKED);
    let revoked = Err(Status::ADMIN_REVOKED);
    assert_eq!(kit.state.test_stateid(client.reference, &[open, lock]), [revoked, revoked]);
    assert_eq!(kit.close(&client, &FILE, open).err(), Some(Status::ADMIN_REVOKED));
    for (sequence, stateid) in [(2, lock), (3, open)] {
        assert_eq!(kit.renew(&client, sequence).status_flags, sequence_status::ADMIN_STATE_REVOKED);
        assert_eq!(kit.state.free_stateid(client.reference, &stateid), Ok(()));
    }
    assert_eq!(kit.renew(&client, 4).status_flags, 0);
    assert!(kit.open(&client, "o", &FILE, BOTH, BOTH).is_ok());
}

#[test]
fn a_share_that_is_rolled_back_loses_its_opens_only() {
    let mut kit = Kit::new();
    let (a, b) = (kit.client("a", 1), kit.client("b", 2));
    kit.open(&a, "o", &FILE, READ, 0).expect("an open");
    let open = kit.open(&b, "o", &FILE, BOTH, 0).expect("an open").stateid;
    kit.lock(&b, open, "l", LockType::Write, (0, 9)).expect("a lock");
    let kept = kit.open(&a, "o", &OTHER_FILE, WRITE, WRITE).expect("an open").stateid;
    kit.records();
    assert_eq!(kit.state.revoke_share(FILE.share), 2);
    kit.state.files.check();
    let holdings = kit.state.totals(kit.now).holdings;
    assert_eq!((holdings.opens, holdings.lock_stateids, holdings.revoked), (1, 0, 3));
    assert_eq!((kit.released(), kit.records()), (vec![FILE], Vec::<String>::new()));
    assert_eq!(kit.state.test_stateid(a.reference, &[kept]), [Ok(())]);
    assert_eq!(kit.renew(&a, 1).status_flags, sequence_status::ADMIN_STATE_REVOKED);
    assert!(kit.open(&b, "p", &FILE, BOTH, BOTH).is_ok());
    assert_eq!(kit.state.revoke_share(77), 0);
}

#[test]
fn a_client_that_is_not_confirmed_is_removed() {
    let mut kit = Kit::new();
    let id = kit.exchange_id(1, &exchange("a", 1, 0)).expect("an id").client;
    assert_eq!(kit.state.revoke_client(id, kit.now), Ok(()));
    assert_eq!((kit.state.totals(kit.now).clients, kit.records()), (0, Vec::<String>::new()));
}
