//! Sessions against a server of this test, which loses connections and replies, and lies.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use bytes::BytesMut;
use nfs::v4::compound::{Arguments, Reply as CompoundReply};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{
    BindOk, BoundDirection, CreateSessionOk, ExchangeIdOk, SequenceArguments, SequenceOk, ServerOwner, StateProtected,
};
use nfs::v4::{Filehandle, Status};
use nfs_client::{ClientError, Compound, Identity, Options, Session};
use onc_rpc::message::{AcceptStatus, Message, Reply};
use onc_rpc::record::{Progress, Reassembly, Record};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use xdr::{Reader, Writer};

/// What the server does with a call, by the number of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    /// Answers it.
    Answer,
    /// Closes the connection without executing it.
    CutBefore,
    /// Executes it, and closes the connection without a reply.
    CutAfter,
    /// Executes it, sends that many bytes of the reply, and closes the connection.
    CutInside(usize),
    /// Answers with another transaction id.
    OtherXid,
    /// Answers SEQUENCE for another slot.
    OtherSlot,
    /// Answers with a byte after the results.
    OneMoreWord,
    /// Does not execute SEQUENCE.
    Sequence(Status),
    /// Answers that it cannot call back.
    PathDown,
    /// Never answers.
    Silence,
}

/// A server with one client and one session.
#[derive(Default)]
struct Server {
    /// What is done with the nth call in the session; others are answered.
    script: HashMap<u32, Behaviour>,
    calls: Cell<u32>,
    /// Sequence id and reply of the last call, a slot.
    slots: RefCell<HashMap<u32, (u32, Vec<Outcome>)>>,
    /// Last request of a slot.
    requests: RefCell<HashMap<u32, SequenceArguments>>,
    executed: Cell<u32>,
    connections: Cell<u32>,
    binds: Cell<u32>,
}

const SESSION: [u8; 16] = [7; 16];

impl Server {
    fn execute(&self, operation: &Operation) -> Outcome {
        match operation {
            Operation::ExchangeId(arguments) => Outcome::ExchangeId(Ok(Box::new(ExchangeIdOk {
                client: u64::from(arguments.owner.verifier[0]),
                sequence: 1,
                flags: 0,
                protection: StateProtected::None,
                owner: ServerOwner { minor: 0, major: "server".into() },
                scope: "scope".into(),
                implementation: None,
            }))),
            Operation::CreateSession(arguments) => Outcome::CreateSession(Ok(Box::new(CreateSessionOk {
                session: SESSION,
                sequence: arguments.sequence,
                flags: arguments.flags,
                fore_channel: arguments.fore_channel.clone(),
                back_channel: arguments.back_channel.clone(),
            }))),
            Operation::BindConnection(arguments) => {
                self.binds.set(self.binds.get() + 1);
                assert_eq!(arguments.session, SESSION);
                Outcome::BindConnection(Ok(BindOk { session: SESSION, direction: BoundDirection::Both, rdma: false }))
            }
            Operation::ReclaimComplete(_) => Outcome::ReclaimComplete(Ok(())),
            Operation::PutRootFilehandle => {
                self.executed.set(self.executed.get() + 1);
                Outcome::PutRootFilehandle(Ok(()))
            }
            Operation::GetFilehandle => Outcome::GetFilehandle(Ok(Filehandle::from(vec![1, 2, 3, 4, 5]))),
            other => panic!("not in this test: {other:?}"),
        }
    }

    /// Results of a compound, from the slot if it was executed before; and what is done with them.
    fn compound(&self, operations: &[Operation]) -> (Vec<Outcome>, Behaviour) {
        let Some(Operation::Sequence(sequence)) = operations.first() else {
            return (operations.iter().map(|operation| self.execute(operation)).collect(), Behaviour::Answer);
        };
        let request = self.requests.borrow_mut().insert(sequence.slot, sequence.clone());
        if let Some(earlier) = request.filter(|earlier| earlier.sequence == sequence.sequence) {
            assert_eq!(&earlier, sequence, "a repetition is another request");
        }
        let call = self.calls.get();
        self.calls.set(call + 1);
        let behaviour = self.script.get(&call).copied().unwrap_or(Behaviour::Answer);
        match behaviour {
            Behaviour::CutBefore => return (Vec::new(), behaviour),
            Behaviour::Sequence(status) => return (vec![Outcome::Sequence(Err(status))], behaviour),
            _ => {}
        }
        let mut slots = self.slots.borrow_mut();
        let (last, kept) = slots.entry(sequence.slot).or_insert((0, Vec::new()));
        if *last == sequence.sequence && sequence.cache_this {
            return (kept.clone(), behaviour);
        }
        if *last == sequence.sequence {
            let uncached = Outcome::PutRootFilehandle(Err(Status::RETRY_UNCACHED_REP));
            return (kept.iter().take(1).cloned().chain([uncached]).collect(), behaviour);
        }
        assert_eq!(sequence.sequence, *last + 1, "slot {}", sequence.slot);
        let slot = if behaviour == Behaviour::OtherSlot { sequence.slot + 1 } else { sequence.slot };
        let results = SequenceOk {
            session: SESSION,
            sequence: sequence.sequence,
            slot,
            highest_slot: 63,
            target_highest_slot: 63,
            status_flags: u32::from(behaviour == Behaviour::PathDown),
        };
        let rest = operations.iter().skip(1).map(|operation| self.execute(operation));
        let outcomes: Vec<_> = std::iter::once(Outcome::Sequence(Ok(results))).chain(rest).collect();
        (*last, *kept) = (sequence.sequence, outcomes.clone());
        (outcomes, behaviour)
    }

    async fn serve(self: Rc<Self>, mut stream: TcpStream) {
        self.connections.set(self.connections.get() + 1);
        let mut reassembly = Reassembly::new(2 << 20);
        let mut input = BytesMut::new();
        loop {
            let record = match reassembly.take(&mut input).unwrap() {
                Progress::Record(record) => record,
                Progress::Incomplete { .. } => match stream.read_buf(&mut input).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => continue,
                },
            };
            let mut reader = Reader::strict(record);
            let Ok(Message::Call(call)) = Message::decode(&mut reader) else { panic!("not a call") };
            let mut arguments = Arguments::<Operation>::decode(reader.rest()).unwrap();
            let operations: Vec<_> = std::iter::from_fn(|| arguments.next_operation()).map(Result::unwrap).collect();
            let (outcomes, behaviour) = self.compound(&operations);
            let mut writer = Writer::default();
            let record = Record::start(&mut writer);
            let xid = if behaviour == Behaviour::OtherXid { call.xid ^ 1 << 31 } else { call.xid };
            Reply::accepted(xid, AcceptStatus::Success).encode(&mut writer);
            let mut reply = CompoundReply::<Operation>::start(&mut writer, &arguments.tag);
            outcomes.iter().for_each(|outcome| reply.push(&mut writer, outcome));
            reply.finish(&mut writer, Ok(()));
            if behaviour == Behaviour::OneMoreWord {
                writer.u32(0);
            }
            record.finish(&mut writer).unwrap();
            let bytes = writer.into_bytes();
            match behaviour {
                Behaviour::CutBefore | Behaviour::CutAfter => return,
                Behaviour::CutInside(length) => {
                    let _gone = stream.write_all(bytes.get(..length).unwrap_or(&bytes)).await;
                    return;
                }
                Behaviour::Silence => {}
                _ => stream.write_all(&bytes).await.unwrap(),
            }
        }
    }
}

/// Runs `client` against a server with a script. Calls are counted from the RECLAIM_COMPLETE, number 0.
fn run<F: Future>(
    script: impl IntoIterator<Item = (u32, Behaviour)>,
    client: impl FnOnce(Rc<Server>, String) -> F,
) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    runtime.block_on(local.run_until(async {
        let server = Rc::new(Server { script: script.into_iter().collect(), ..Server::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let accepting = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(Rc::clone(&accepting).serve(stream));
            }
        });
        client(server, address).await
    }))
}

fn options() -> Options {
    Options { slots: 4, timeout: Duration::from_secs(10), patience: Duration::from_secs(20), ..Options::default() }
}

async fn connect(address: &str) -> Session {
    Session::connect(address, &Identity::root("test", [9; 8]), options()).await.unwrap()
}

fn change() -> Compound {
    Compound::changing([Operation::PutRootFilehandle, Operation::GetFilehandle])
}

#[test]
fn a_call_takes_effect_once_wherever_its_connection_is_cut() {
    let cuts = (0..140).map(Behaviour::CutInside).chain([Behaviour::CutBefore, Behaviour::CutAfter]);
    for cut in cuts {
        run([(2, cut)], |server, address| async move {
            let session = connect(&address).await;
            for _ in 0..3 {
                let outcomes = session.call(&change()).await.unwrap();
                outcomes.finish().unwrap();
            }
            assert_eq!(server.executed.get(), 3, "{cut:?}");
            assert_eq!((server.connections.get(), server.binds.get()), (2, 1), "{cut:?}");
        });
    }
}

#[test]
fn a_call_that_changes_nothing_is_executed_anew_if_its_reply_was_lost() {
    run([(2, Behaviour::CutAfter)], |server, address| async move {
        let session = connect(&address).await;
        let look = Compound::reading([Operation::PutRootFilehandle, Operation::GetFilehandle]);
        for _ in 0..3 {
            session.call(&look).await.unwrap().finish().unwrap();
        }
        assert_eq!((server.executed.get(), server.calls.get()), (4, 6));
    });
}

#[test]
fn calls_in_flight_use_slots_of_their_own_and_survive_a_cut_together() {
    run([(3, Behaviour::CutAfter), (9, Behaviour::CutBefore)], |server, address| async move {
        let session = connect(&address).await;
        let calls = (0..32).map(|_| {
            let session = session.clone();
            async move { session.call(&change()).await.unwrap().finish().unwrap() }
        });
        futures_util::future::join_all(calls).await;
        assert_eq!(server.executed.get(), 32);
        assert_eq!(server.slots.borrow().len(), 4, "as many slots as were asked for");
    });
}

/// A server that had lost its back channel told so in vain: no callback came any more.
#[test]
fn the_back_channel_is_bound_again_when_the_server_cannot_call_back() {
    let down = [1, 2, 3].map(|call| (call, Behaviour::PathDown));
    run(down, |server, address| async move {
        let session = connect(&address).await;
        let binds = async |count| {
            for _ in 0..3 {
                session.call(&change()).await.unwrap().finish().unwrap();
            }
            assert_eq!(server.binds.get(), count);
        };
        // Once, also if further calls are answered before the server has bound it.
        binds(1).await;
        binds(1).await;
        assert_eq!((server.connections.get(), server.executed.get()), (1, 6));
    });
}

#[test]
fn a_delayed_call_is_repeated_in_its_slot() {
    run(
        [(1, Behaviour::Sequence(Status::DELAY)), (2, Behaviour::Sequence(Status::DELAY))],
        |server, address| async move {
            connect(&address).await.call(&change()).await.unwrap().finish().unwrap();
            assert_eq!((server.executed.get(), server.calls.get()), (1, 4));
        },
    );
}

#[test]
fn a_lost_session_is_said_to_be_lost() {
    run([(1, Behaviour::Sequence(Status::BADSESSION))], |_, address| async move {
        let error = connect(&address).await.call(&change()).await.unwrap_err();
        assert_eq!(error, ClientError::SessionLost(Status::BADSESSION));
    });
}

#[test]
fn lies_are_noticed() {
    for lie in [Behaviour::OtherSlot, Behaviour::OneMoreWord] {
        run([(1, lie)], |server, address| async move {
            let session = connect(&address).await;
            let error = session.call(&change()).await.unwrap_err();
            assert!(matches!(error, ClientError::Malformed(_)), "{lie:?}: {error}");
            // The server has executed it, so its slot is not used again.
            session.call(&change()).await.unwrap().finish().unwrap();
            assert_eq!((server.executed.get(), server.slots.borrow().len()), (2, 2), "{lie:?}");
        });
    }
}

#[test]
fn a_reply_to_no_call_ends_the_connection() {
    run([(1, Behaviour::OtherXid)], |server, address| async move {
        connect(&address).await.call(&change()).await.unwrap().finish().unwrap();
        assert_eq!((server.connections.get(), server.executed.get()), (2, 1));
    });
}

#[test]
fn a_silent_server_is_left_after_the_time_limit() {
    run([(1, Behaviour::Silence)], |server, address| async move {
        let limit = Duration::from_millis(200);
        let options = Options { timeout: limit, ..options() };
        let session = Session::connect(&address, &Identity::root("test", [9; 8]), options).await.unwrap();
        session.call(&change()).await.unwrap().finish().unwrap();
        assert_eq!((server.connections.get(), server.executed.get()), (2, 1));
    });
}
