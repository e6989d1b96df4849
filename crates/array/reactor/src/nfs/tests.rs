//! Connections over byte streams in memory, in virtual time.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::super::share::HostCalls;
use super::super::shared_memory::{Budgets, SharedMemory};
use super::super::socket::Socket;
use super::copies::Copies;
use super::records::Store;
use super::registry::Order;
use super::service::{Service, Surroundings};
use super::start::Start;
use crate::SystemEnvironment;
use bytes::{Bytes, BytesMut};
use control::Environment;
use futures_util::future::LocalBoxFuture;
use nfs::v4::SessionId;
use nfs::v4::session::{
    BindArguments, CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArguments, ExchangeIdArguments,
    StateProtection, WantedDirection, create_session,
};
use nfs_server::handle::HandleKey;
use nfs_state::{Caller, Config, ConnectionId, Identity, Principal, RecordChange, State};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vfs::memory::MemoryFileSystem;

type Tested = Rc<Service<MemoryFileSystem>>;

/// Bytes in each direction between the two ends of a connection.
const PIPE_BYTES: usize = 64 << 10;
/// NULL of NFSv4 without a credential, as a record.
const NULL: [u32; 11] = [0x8000_0028, 7, 0, 2, nfs::PROGRAM, 4, 0, 0, 0, 0, 0];
/// Length of the reply to it, with the header of its record.
const REPLY_BYTES: usize = 28;

impl Socket for DuplexStream {
    type Parcel = ();

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        pin!(self.read_buf(buffer)).poll(context)
    }
    fn poll_write(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(context, slices)
    }
    fn local_address(&self) -> Option<SocketAddr> {
        None
    }
    fn pack(self) -> io::Result<()> {
        Ok(())
    }
    fn unpack((): ()) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Server without shares, whose records are stored as long as `permits` has some.
fn service(permits: &Rc<Semaphore>) -> Tested {
    let name = Bytes::from_static(b"test");
    let config = Config::new(1, Identity { server_owner: name.clone(), scope: name, implementation: None });
    let state = State::new(config, Vec::new(), Duration::ZERO, Duration::ZERO).unwrap();
    let start = Start { handle_key: HandleKey::new([1; 16]), state: Some(state), v3: true, portmap: false };
    let surroundings = Surroundings {
        log: Box::new(|_| {}),
        owed: Box::new(|_| Duration::ZERO),
        memory: SharedMemory::new(&Budgets::new(64 << 20)),
        shortage: Rc::default(),
        environment: Rc::new(SystemEnvironment),
        calls: HostCalls::default(),
        measurements: Arc::default(),
    };
    let permits = Rc::clone(permits);
    let store: Store = Box::new(move |_| {
        let permits = Rc::clone(&permits);
        Box::pin(async move {
            permits.acquire().await.unwrap().forget();
            Ok(())
        })
    });
    Rc::new(Service::new(start, 2049, surroundings, store))
}

fn run(test: impl AsyncFnOnce(Tested, Rc<Semaphore>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let permits = Rc::new(Semaphore::new(0));
        let service = service(&permits);
        let background = Rc::clone(&service);
        tokio::task::spawn_local(async move { background.background().await });
        test(service, permits).await;
    });
}

fn connect(service: &Tested) -> DuplexStream {
    let (client, server) = tokio::io::duplex(PIPE_BYTES);
    service.connected(server, SocketAddr::from(([192, 0, 2, 1], 900)));
    client
}

fn null() -> Vec<u8> {
    NULL.iter().flat_map(|word| word.to_be_bytes()).collect()
}

async fn reply(client: &mut DuplexStream) {
    let mut reply = [0; REPLY_BYTES];
    client.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..8], [0x80, 0, 0, 24, 0, 0, 0, 7]);
}

/// A reply waits for the records before it, and its call is polled to its end although the client has gone.
#[test]
fn a_call_outlives_its_connection() {
    run(async |service, permits| {
        service.take_record(RecordChange::Remove { owner: Bytes::from_static(b"a") });
        let mut client = connect(&service);
        client.write_all(&null()).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_secs(1), reply(&mut client)).await.is_err());
        drop(client);
        let gone = async {
            while service.registry.count() > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let mut gone = pin!(gone);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!service.registry.send(1, vec![Bytes::from_static(b"callback")]));
        assert!(tokio::time::timeout(Duration::from_secs(600), &mut gone).await.is_err());
        permits.add_permits(1);
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    });
}

#[test]
fn a_connection_without_calls_is_closed() {
    run(async |service, _| {
        let mut client = connect(&service);
        let begun = Instant::now();
        client.write_all(&null()).await.unwrap();
        reply(&mut client).await;
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
        assert_eq!(begun.elapsed().as_secs(), 60);
        assert_eq!(service.registry.closed.idle.total(), 1);
    });
}

/// A connection that a client had bound for callbacks alone was closed when none had been due for a minute.
#[test]
fn the_only_back_channel_of_a_session_is_not_idle() {
    run(async |service, _| {
        let (one, two) = (ConnectionId(1), ConnectionId(2));
        let mut client = connect(&service);
        let session = session(&service, one);
        assert!(tokio::time::timeout(Duration::from_secs(600), client.read(&mut [0; 1])).await.is_err());
        let _second = connect(&service);
        let bind = BindArguments { session, direction: WantedDirection::Back, rdma: false };
        service.version_4().unwrap().state().bind_connection(two, &bind).unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0);
    });
}

/// A session of a new client, with a back channel on that connection.
fn session(service: &Tested, connection: ConnectionId) -> SessionId {
    let mut state = service.version_4().unwrap().state();
    let now = service.uptime();
    let caller = Caller { connection, principal: Principal { flavor: 1, user: 0 } };
    let owner = ClientOwner { verifier: [1; 8], owner: "client".into() };
    let exchange = ExchangeIdArguments { owner, flags: 0, protection: StateProtection::None, implementation: None };
    let client = state.exchange_id(&caller, &exchange, 2, now).unwrap();
    let channel = ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: 4096,
        max_response_bytes: 4096,
        max_cached_response_bytes: 4096,
        max_operations: 8,
        max_requests: 4,
        rdma_reads: None,
    };
    let create = CreateSessionArguments {
        client: client.client,
        sequence: client.sequence,
        flags: create_session::CONNECTION_BACK_CHANNEL,
        fore_channel: channel.clone(),
        back_channel: channel,
        callback_program: 0x4000_0000,
        callback_security: vec![CallbackSecurity::None].into(),
    };
    state.create_session(&caller, &create, 7, now).unwrap().session
}

/// Memory for a client that reads nothing is bounded, and it gets all replies when it reads again.
#[test]
fn a_client_that_reads_nothing_is_held_back() {
    run(async |service, _| {
        let (mut reader, mut writer) = tokio::io::split(connect(&service));
        let calls = null().repeat(1000);
        let mut sent = 0;
        loop {
            // From where the last write ended.
            let write = writer.write(&calls[sent % (4 * NULL.len())..]);
            let Ok(written) = tokio::time::timeout(Duration::from_secs(1), write).await else { break };
            sent += written.unwrap();
            assert!(sent < 64 << 20);
        }
        // A last call that is not whole has no reply.
        let mut received = vec![0; sent / (4 * NULL.len()) * REPLY_BYTES];
        reader.read_exact(&mut received).await.unwrap();
        assert!(received.chunks_exact(REPLY_BYTES).all(|reply| reply[..8] == received[..8]));
    });
}

/// Replies to calls in progress leave before the connection is closed.
#[test]
fn a_stop_waits_for_the_last_replies() {
    run(async |service, permits| {
        service.take_record(RecordChange::Remove { owner: Bytes::from_static(b"a") });
        let mut client = connect(&service);
        client.write_all(&null().repeat(3)).await.unwrap();
        // The calls begin.
        assert!(tokio::time::timeout(Duration::from_secs(1), reply(&mut client)).await.is_err());
        let stopping = service.registry.shut_down(Duration::from_secs(5));
        // After the order to leave.
        let storing = async { permits.add_permits(1) };
        let mut rest = Vec::new();
        let (_, _, read) = tokio::join!(stopping, storing, client.read_to_end(&mut rest));
        assert_eq!(read.unwrap(), 3 * REPLY_BYTES);
        assert_eq!(service.registry.count(), 0);
    });
}

/// Clients that do not read their replies, calls that do not end, records that arrive in part and silent clients:
/// a stop ends in a bounded time.
#[test]
fn a_stop_waits_for_no_client() {
    run(async |service, _permits| {
        let silent = connect(&service);
        let mut partial = connect(&service);
        partial.write_all(&null()[..20]).await.unwrap();
        let mut unread = connect(&service);
        let calls = null().repeat(1000);
        while let Ok(sent) = tokio::time::timeout(Duration::from_secs(1), unread.write_all(&calls)).await {
            sent.unwrap();
        }
        // No reply may be sent before this record is stored, which it never is.
        service.take_record(RecordChange::Remove { owner: Bytes::from_static(b"a") });
        let mut waiting = connect(&service);
        waiting.write_all(&null().repeat(3)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(service.registry.count(), 4);
        let begun = Instant::now();
        service.registry.shut_down(Duration::from_secs(5)).await;
        assert!(begun.elapsed() <= Duration::from_secs(10), "{:?}", begun.elapsed());
        drop((silent, partial, unread, waiting));
    });
}

/// Callbacks were in no budget: a client that read none of them kept memory that others waited for.
#[test]
fn callbacks_that_a_client_does_not_read_are_memory_of_its_connection() {
    run(async |service, _| {
        let record = || vec![Bytes::from(vec![7; 1 << 10])];
        let mut client = connect(&service);
        assert!((0..300).all(|_| service.registry.send(1, record())));
        let mut received = vec![0; 300 * (4 + (1 << 10))];
        client.read_exact(&mut received).await.unwrap();
        assert!(received.chunks_exact(4 + (1 << 10)).all(|record| record[4..] == [7; 1 << 10]));
        // Now it does not read.
        assert!((0..300).all(|_| service.registry.send(1, record())));
        let begun = Instant::now();
        while service.registry.count() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it was not asked to give way");
            tokio::time::sleep(Duration::from_secs(1)).await;
            service.registry.order(Order::GiveWay);
        }
    });
}

/// A call that an administrator has forbidden could take effect after the answer: it is in progress as long as it has
/// its epoch. One that takes long, of whatever client, does not keep the administrator waiting.
#[test]
fn nothing_of_a_client_is_in_progress_when_it_is_expired() {
    run(async |service, _| {
        session(&service, ConnectionId(1));
        let id = service.version_4().unwrap().state().list_clients(0, 1, service.uptime()).elements[0].id;
        let call = service.epoch();
        let mut expired = pin!(service.expire_client(id));
        assert!(tokio::time::timeout(Duration::from_secs(2), &mut expired).await.is_err());
        drop(call);
        assert!(tokio::time::timeout(Duration::from_millis(100), expired).await.unwrap());
        let _long_call = service.epoch();
        assert!(!tokio::time::timeout(Duration::from_millis(100), service.expire_client(id + 1)).await.unwrap());
        session(&service, ConnectionId(2));
        let next = service.version_4().unwrap().state().list_clients(0, 1, service.uptime()).elements[0].id;
        assert!(tokio::time::timeout(Duration::from_secs(6), service.expire_client(next)).await.unwrap());
    });
}

/// Copies together take no more time than background work may have, however many of them go on side by side.
#[test]
fn copies_give_way_to_hosts() {
    run(async |_, _| {
        let environment = VirtualTime(Instant::now());
        let owed = |worked: Duration| worked * 4;
        let copies = Copies::new(Box::new(owed));
        let piece = Duration::from_millis(2);
        let copy = async || {
            for _ in 0..25 {
                environment.sleep(piece).await;
                copies.give_way(&environment, piece).await;
            }
        };
        let begun = Instant::now();
        tokio::join!(copy(), copy(), copy(), copy());
        // 100 pieces, each of which owes 8 ms, but for those that wait at the end.
        let took = begun.elapsed().as_millis();
        assert!((780..=1000).contains(&took), "{took} ms");
        // A piece that waited long is paid with a short pause.
        let begun = Instant::now();
        copies.give_way(&environment, Duration::from_secs(100)).await;
        assert!(begun.elapsed() <= Duration::from_millis(1010), "{:?}", begun.elapsed());
    });
}

/// Environment whose clock is that of the runtime.
struct VirtualTime(Instant);

impl Environment for VirtualTime {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
    fn sleep(&self, time: Duration) -> LocalBoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }
    fn fill_random(&self, _: &mut [u8]) {}
}
