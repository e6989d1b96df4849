//! Clients and sessions, as far as the server adds to their state.

use super::kit::{Kit, get};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{BackChannelArguments, BindArguments, CallbackSecurity, SequenceArguments, WantedDirection};
use nfs::v4::{Status, compound::MAX_OPERATIONS};

#[test]
fn the_lease_is_an_attribute() {
    let kit = Kit::new();
    assert_eq!(kit.attribute("s", 10), nfs::v4::attributes::Attribute::LeaseTime(30));
}

#[test]
fn an_unknown_session_is_bad() {
    let kit = Kit::new();
    let session = [9; 16];
    let sequence = SequenceArguments { session, sequence: 1, slot: 0, highest_slot: 0, cache_this: false };
    let outcome = kit.run_alone(&[Operation::Sequence(sequence), Operation::PutRootFilehandle]);
    assert_eq!(outcome, (Err(Status::BADSESSION), vec![Outcome::Sequence(Err(Status::BADSESSION))]));
}

#[test]
fn a_retry_without_kept_reply_is_told_so() {
    let kit = Kit::new();
    assert_eq!(kit.status([Operation::PutRootFilehandle, get(&[1])]), Ok(()));
    let operations = [kit.same_sequence(), Operation::PutRootFilehandle, get(&[1])];
    let (status, outcomes) = kit.run_alone(&operations);
    assert_eq!((status, outcomes.len()), (Err(Status::RETRY_UNCACHED_REP), 2));
    assert_eq!(outcomes[0].status(), Ok(()));
}

#[test]
fn a_retry_with_other_operations_is_refused() {
    let kit = Kit::new();
    kit.sessions.cache_this.set(true);
    assert_eq!(kit.status([Operation::PutRootFilehandle]), Ok(()));
    let (status, outcomes) = kit.run_alone(&[kit.same_sequence(), Operation::PutPublicFilehandle]);
    assert_eq!((status, outcomes.len()), (Err(Status::SEQ_FALSE_RETRY), 1));
    kit.user.set(1000);
    let (status, _) = kit.run_alone(&[kit.same_sequence(), Operation::PutRootFilehandle]);
    assert_eq!(status, Err(Status::SEQ_FALSE_RETRY));
}

#[test]
fn a_session_ends_at_the_end_of_its_own_compound() {
    let kit = Kit::new();
    let session = kit.session();
    let early = [kit.next_sequence(), Operation::DestroySession(session), Operation::PutRootFilehandle];
    assert_eq!(kit.run_alone(&early).0, Err(Status::NOT_ONLY_OP));
    assert_eq!(kit.run_alone(&[kit.next_sequence(), Operation::DestroySession(session)]).0, Ok(()));
    assert_eq!(kit.run_alone(&[kit.next_sequence()]).0, Err(Status::BADSESSION));
    assert_eq!(kit.run_alone(&[Operation::DestroyClientId(kit.client_id())]).0, Ok(()));
    assert_eq!(kit.run_alone(&[Operation::DestroyClientId(kit.client_id())]).0, Err(Status::STALE_CLIENTID));
}

#[test]
fn a_client_with_sessions_is_busy() {
    let kit = Kit::new();
    assert_eq!(kit.run_alone(&[Operation::DestroyClientId(kit.client_id())]).0, Err(Status::CLIENTID_BUSY));
    assert_eq!(kit.status([Operation::DestroyClientId(kit.client_id())]), Err(Status::CLIENTID_BUSY));
}

#[test]
fn a_connection_is_bound_and_its_back_channel_changed() {
    let kit = Kit::new();
    let bind = BindArguments { session: kit.session(), direction: WantedDirection::ForeOrBoth, rdma: false };
    kit.who.set(0);
    assert!(matches!(kit.run_alone(&[Operation::BindConnection(bind)]).1.pop(), Some(Outcome::BindConnection(_))));
    let unknown = BindArguments { session: [9; 16], direction: WantedDirection::Fore, rdma: false };
    assert_eq!(kit.run_alone(&[Operation::BindConnection(unknown)]).0, Err(Status::BADSESSION));
    let control = |security: Vec<CallbackSecurity>| {
        let arguments = BackChannelArguments { program: 0x4000_0001, security: security.into() };
        kit.status([Operation::BackChannelControl(arguments)])
    };
    assert_eq!(control(vec![CallbackSecurity::None]), Ok(()));
    assert_eq!(control(Vec::new()), Err(Status::NOENT));
}

#[test]
fn reclaims_of_one_file_system_need_its_handle() {
    let kit = Kit::new();
    let one = Operation::ReclaimComplete(true);
    assert_eq!(kit.status([one.clone()]), Err(Status::NOFILEHANDLE));
    assert_eq!(kit.status_at("s", one), Ok(()));
}

#[test]
fn a_compound_has_at_most_as_many_operations_as_the_server_takes() {
    let kit = Kit::new();
    kit.sessions.operations.set(1000);
    let operations = vec![Operation::PutRootFilehandle; MAX_OPERATIONS as usize];
    assert_eq!(kit.status(operations[1..].to_vec()), Ok(()));
    let (status, outcomes) = kit.run_alone(&[&[kit.next_sequence()], &operations[..]].concat());
    assert_eq!((status, outcomes.len()), (Err(Status::TOO_MANY_OPS), 1));
}

#[test]
fn a_client_has_a_record_when_its_reclaims_are_complete() {
    let kit = Kit::without_client(vfs::memory::MemoryEngine::new(None), Vec::new());
    kit.join("client-0", false);
    assert_eq!(kit.server.take_record_change(), None);
    assert_eq!(kit.status([Operation::ReclaimComplete(false)]), Ok(()));
    assert!(kit.server.take_record_change().is_some() && kit.server.take_record_change().is_none());
}
