//! Limits of volumes and hosts in the path of commands, in virtual time.

use super::*;
use crate::wire::End;
use bytes::{Buf, Bytes, BytesMut};
use control::{HostCreate, Live, VolumeId};
use futures_util::future::join_all;
use initiator::cdb;
use iscsi::initiator::{Completion, Config, Event, Initiator, Request, TransferRequest};
use iscsi::pdu::{LogoutReason, TaskAttribute, TaskManagementFunction, TaskManagementResponse};
use qos::{HostId, Limits, PolicyId, Rate};
use reactor::simulation::Socket;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::task::Context;

const POLICY: PolicyId = PolicyId(1);
/// Commands that a limit of 100 in a second lets pass at once: those of 50 ms, and the next.
const BURST: usize = 6;
/// CHECK CONDITION.
const CHECK_CONDITION: u8 = 2;

/// A session of a host.
struct Client {
    socket: End,
    machine: Initiator,
    output: VecDeque<Bytes>,
    input: BytesMut,
    broken: bool,
}

impl Client {
    /// Logs in to the only volume and takes its unit attentions. `session`: number among those of the host.
    async fn login(run: &Run, host: usize, session: u8) -> Self {
        let random = Random::new(host as u64 * 100 + u64::from(session));
        let socket = (run.connector())(host, &random).unwrap();
        let target = run.shared.target.borrow().clone();
        let mut config = Config::new(format!("iqn.2026-01.org.example:host-{host}"), target);
        config.isid[5] = session;
        let machine = Initiator::new(config, [session; 32]);
        let mut client = Self { socket, machine, output: VecDeque::new(), input: BytesMut::new(), broken: false };
        assert!(matches!(client.event().await, Some(Event::LoggedIn { .. })));
        while client.command(cdb::test_unit_ready(), TransferRequest::None).await.status == CHECK_CONDITION {}
        client
    }

    /// Moves bytes both ways. Ready when there is an event, or none will come.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            self.output.extend(std::iter::from_fn(|| self.machine.poll_output()));
            while let Some(front) = self.output.front_mut() {
                match self.socket.poll_write(context, &[IoSlice::new(front)]) {
                    Poll::Ready(Ok(written)) => front.advance(written),
                    Poll::Ready(Err(_broken)) => self.broken = true,
                    Poll::Pending => break,
                }
                if front.is_empty() || self.broken {
                    self.output.pop_front();
                }
            }
            if let Some(event) = self.machine.poll_event() {
                return Poll::Ready(Some(event));
            }
            if self.broken {
                return Poll::Ready(None);
            }
            self.input.reserve(64 << 10);
            match self.socket.poll_read(context, &mut self.input) {
                Poll::Ready(Ok(1..)) => self.machine.handle_input(&mut self.input),
                Poll::Ready(_) => self.broken = true,
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    async fn event(&mut self) -> Option<Event> {
        poll_fn(|context| self.poll(context)).await
    }

    /// Moves bytes for this time. Events stay.
    async fn send_for(&mut self, milliseconds: u64) {
        let mut events = Vec::new();
        let _over = tokio::time::timeout(Duration::from_millis(milliseconds), async {
            loop {
                events.push(self.event().await);
            }
        })
        .await;
        assert_eq!(events, [], "nothing was to be answered");
    }

    fn send_with(&mut self, cdb: [u8; 16], transfer: TransferRequest, attribute: TaskAttribute) -> u32 {
        self.machine.command(Request { lun: [0; 8], cdb, attribute, immediate: false, transfer })
    }

    fn send(&mut self, cdb: [u8; 16], transfer: TransferRequest) -> u32 {
        self.send_with(cdb, transfer, TaskAttribute::SIMPLE)
    }

    /// Sends reads of 4 KiB.
    fn reads(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.send(cdb::read16(0, 8), TransferRequest::In(4096))).collect()
    }

    async fn completion(&mut self) -> Completion {
        match self.event().await {
            Some(Event::Completed(completion)) => completion,
            other => panic!("{other:?}"),
        }
    }

    /// Tags of the next commands that are done, all with GOOD status.
    async fn done(&mut self, count: usize) -> Vec<u32> {
        let mut tags = Vec::new();
        for _ in 0..count {
            let completion = self.completion().await;
            assert_eq!(completion.status, 0, "{completion:?}");
            tags.push(completion.initiator_task_tag);
        }
        tags
    }

    async fn command(&mut self, cdb: [u8; 16], transfer: TransferRequest) -> Completion {
        let tag = self.send(cdb, transfer);
        let completion = self.completion().await;
        assert_eq!(completion.initiator_task_tag, tag);
        completion
    }

    /// A task management function, which is answered before any command is.
    async fn function(&mut self, function: TaskManagementFunction, task: Option<u32>) {
        let tag = self.machine.task_management(function, [0; 8], task);
        let response = TaskManagementResponse::COMPLETE;
        assert_eq!(self.event().await, Some(Event::TaskManagement { initiator_task_tag: tag, response }));
    }

    /// Keeps reads in flight for a time. Returns how many were done.
    async fn load(&mut self, depth: usize, time: Duration) -> u64 {
        self.reads(depth);
        let end = Instant::now() + time;
        let mut done = 0;
        while let Ok(completion) = tokio::time::timeout_at(end, self.completion()).await {
            assert_eq!(completion.status, 0);
            done += 1;
            self.reads(1);
        }
        done
    }
}

/// An array with one volume and as many executors, and its limits.
async fn array(executors: usize) -> (Run, Rc<dyn Live>, VolumeId) {
    let run = started_with(7, executors).await;
    let (live, control) = {
        let machine = run.machine.borrow();
        let array = &machine.as_ref().unwrap().array;
        (array.live(), array.control().clone())
    };
    let volume = VolumeId(control.directory().volumes().next().unwrap().object.0);
    (run, live, volume)
}

/// Gives the volume a limit.
fn limit(live: &Rc<dyn Live>, volume: VolumeId, operations: u64) {
    live.set_policy(POLICY, Some((rate(operations), false)));
    live.set_volume_policy(volume, Some(POLICY));
}

fn rate(operations: u64) -> Limits {
    Limits { operations: Some(Rate { per_second: operations, burst: None }), ..Limits::default() }
}

impl Run {
    async fn beside<T>(&self, future: impl Future<Output = T>) -> T {
        self.poll_with(future).await.unwrap()
    }

    /// Number of commands that wait.
    fn waiting(&self) -> usize {
        self.machine.borrow().as_ref().unwrap().array.waiting_for_limits()
    }

    /// Creates a host with the initiator of this number. Returns its identity.
    async fn create_host(&self, number: usize) -> HostId {
        let control = self.machine.borrow().as_ref().unwrap().array.control().clone();
        let iqns = vec![format!("iqn.2026-01.org.example:host-{number}")];
        let create = HostCreate { name: format!("h{number}"), iqns, addresses: Vec::new(), chap: None };
        let host = self.beside(control.execute(create)).await.unwrap();
        HostId::of_record(host.view.record.id.as_u128())
    }
}

fn took(since: Instant, least_ms: u64, most_ms: u64) {
    let took = since.elapsed();
    let range = Duration::from_millis(least_ms)..=Duration::from_millis(most_ms);
    assert!(range.contains(&took), "{took:?} is not within {range:?}");
}

#[test]
fn a_rate_is_held_within_three_percent_of_ten_seconds() {
    for (executors, rate) in [(0, 1000), (1, 300)] {
        in_virtual_time(async {
            let (run, live, volume) = array(executors).await;
            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            limit(&live, volume, rate);
            let done = run.beside(client.load(32, Duration::from_secs(10))).await;
            assert!(done.abs_diff(10 * rate) <= 10 * rate * 3 / 100, "{done}");
            let held = live.held().volumes[&volume];
            assert!(held.commands > 9 * rate && held.time > Duration::from_secs(200), "{held:?}");
            assert!(held.charged.operations.abs_diff(done) <= 32, "{held:?}");
        });
    }
}

/// ABORT TASK would have waited for the command's turn.
#[test]
fn an_aborted_command_ends_at_once_and_the_others_go_on_in_their_order() {
    for executors in [0, 1] {
        in_virtual_time(async {
            let (run, live, volume) = array(executors).await;
            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            limit(&live, volume, 100);
            let mut reads = client.reads(100);
            let first = run.beside(client.done(BURST)).await;
            assert_eq!(first, reads[..BURST]);
            let begun = Instant::now();
            let aborted = reads.remove(60);
            run.beside(client.function(TaskManagementFunction::ABORT_TASK, Some(aborted))).await;
            took(begun, 0, 5);
            assert_eq!(run.beside(client.done(99 - BURST)).await, reads[BURST..]);
            took(begun, 900, 1000);
            assert_eq!(run.waiting(), 0);
        });
    }
}

#[test]
fn a_reset_of_the_logical_unit_empties_the_queue() {
    for executors in [0, 1] {
        in_virtual_time(async {
            let (run, live, volume) = array(executors).await;
            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            let mut other = run.beside(Client::login(&run, 2, 1)).await;
            limit(&live, volume, 100);
            client.reads(100);
            run.beside(client.done(BURST)).await;
            let begun = Instant::now();
            run.beside(other.function(TaskManagementFunction::LOGICAL_UNIT_RESET, None)).await;
            took(begun, 0, 5);
            assert_eq!(run.waiting(), 0);
            run.beside(client.send_for(2000)).await;
            let told = run.beside(client.command(cdb::test_unit_ready(), TransferRequest::None)).await;
            assert_eq!(told.status, CHECK_CONDITION, "BUS DEVICE RESET FUNCTION OCCURRED");
            client.reads(5);
            run.beside(client.done(5)).await;
        });
    }
}

/// A logout waits for the commands that the array has.
#[test]
fn a_logout_and_a_lost_connection_end_what_waits() {
    for executors in [0, 1] {
        in_virtual_time(async {
            let (run, live, volume) = array(executors).await;
            limit(&live, volume, 100);
            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            client.reads(100);
            run.beside(client.done(BURST)).await;
            let begun = Instant::now();
            client.machine.logout(LogoutReason::CLOSE_SESSION);
            let ended =
                run.beside(async { while !matches!(client.event().await, Some(Event::LoggedOut(_)) | None) {} });
            ended.await;
            took(begun, 0, 100);
            assert_eq!(run.waiting(), 0);

            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            client.reads(100);
            run.beside(client.done(BURST)).await;
            assert!(run.waiting() > 80);
            drop(client);
            run.beside(sleep(Duration::from_millis(50))).await;
            assert_eq!(run.waiting(), 0);
            let begun = Instant::now();
            run.beside(Client::login(&run, 1, 1)).await;
            took(begun, 0, 100);
        });
    }
}

/// The host with more sessions got eight times as much.
#[test]
fn hosts_have_equal_parts_of_a_volume_whatever_their_sessions() {
    in_virtual_time(async {
        let (run, live, volume) = array(0).await;
        for host in [1, 2] {
            run.create_host(host).await;
        }
        let mut clients = Vec::new();
        for (host, session) in (1..=8).map(|session| (1, session)).chain([(2, 1)]) {
            clients.push(run.beside(Client::login(&run, host, session)).await);
        }
        limit(&live, volume, 2000);
        let time = Duration::from_secs(5);
        let done = run.beside(join_all(clients.iter_mut().map(|client| client.load(32, time)))).await;
        let (one, other): (u64, u64) = (done[..8].iter().sum(), done[8]);
        assert!(one.abs_diff(other) * 100 <= 3 * other, "{one} {other}");
        assert!((one + other).abs_diff(10_000) < 300, "{one} {other}");
    });
}

#[test]
fn a_host_has_its_own_limit_in_all_of_its_sessions() {
    in_virtual_time(async {
        let (run, live, _) = array(0).await;
        let mut clients = Vec::new();
        for (host, session) in [(1, 1), (1, 2), (2, 1)] {
            clients.push(run.beside(Client::login(&run, host, session)).await);
        }
        // The hosts are created and limited while they are logged in.
        let (host, other) = (run.create_host(1).await, run.create_host(2).await);
        for (host, policy, operations) in [(host, POLICY, 500), (other, PolicyId(2), 1000)] {
            live.set_policy(policy, Some((rate(operations), false)));
            live.set_host_policy(host, Some(policy));
        }
        let time = Duration::from_secs(4);
        let done = run.beside(join_all(clients.iter_mut().map(|client| client.load(4, time)))).await;
        assert!((done[0] + done[1]).abs_diff(2000) <= 60, "{done:?}");
        assert!(done[2].abs_diff(4000) <= 120, "the other host has its own limit: {done:?}");
        assert!(live.held().hosts[&host].charged.operations.abs_diff(done[0] + done[1]) <= 8);
    });
}

/// A datastore was lost, because its heartbeat waited behind its limit.
#[test]
fn heartbeats_and_reservations_pass_while_a_thousand_writes_wait() {
    in_virtual_time(async {
        let (run, live, volume) = array(0).await;
        let mut clients = Vec::new();
        for session in 1..=10 {
            clients.push(run.beside(Client::login(&run, 1, session)).await);
        }
        let mut heart = run.beside(Client::login(&run, 2, 1)).await;
        limit(&live, volume, 100);
        for client in &mut clients {
            for _ in 0..100 {
                client.send(cdb::write16(64, 8, false), TransferRequest::Out(vec![1; 4096].into()));
            }
        }
        let mut writes = Box::pin(join_all(clients.iter_mut().map(|client| client.done(100))));
        let beats = run.poll_with(async {
            poll_fn(|context| {
                assert!(writes.as_mut().poll(context).is_pending());
                if run.waiting() > 900 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            for beat in 0..100u8 {
                let content = [vec![beat; 512], vec![beat + 1; 512]].concat();
                let begun = Instant::now();
                let locked = heart.command(cdb::compare_and_write(0, 1), TransferRequest::Out(content.into())).await;
                assert_eq!(locked.status, 0, "{locked:?}");
                assert_eq!(heart.command(cdb::test_unit_ready(), TransferRequest::None).await.status, 0);
                took(begun, 0, 30);
                sleep(Duration::from_millis(10)).await;
            }
        });
        beats.await.unwrap();
        assert!(run.waiting() > 700);
    });
}

/// Change of limits.
type Change = fn(&Rc<dyn Live>, VolumeId);

#[test]
fn changed_and_removed_limits_release_what_waits() {
    let changes: [Change; 4] = [
        |live, _| live.set_policy(POLICY, Some((rate(1_000_000), false))),
        |live, _| live.set_policy(POLICY, None),
        |live, volume| live.set_volume_policy(volume, None),
        |live, volume| live.set_volume_policy(volume, Some(PolicyId(2))),
    ];
    for change in changes {
        in_virtual_time(async {
            let (run, live, volume) = array(0).await;
            let mut client = run.beside(Client::login(&run, 1, 1)).await;
            limit(&live, volume, 100);
            let reads = client.reads(100);
            run.beside(client.done(BURST)).await;
            let begun = Instant::now();
            change(&live, volume);
            assert_eq!(run.beside(client.done(100 - BURST)).await, reads[BURST..]);
            took(begun, 0, 100);
            assert_eq!(run.waiting(), 0);
        });
    }
}

/// SIMPLE commands that are never delayed must not pass an ORDERED one that waits.
#[test]
fn ordered_commands_keep_their_place_and_head_of_queue_goes_first() {
    in_virtual_time(async {
        let (run, live, volume) = array(0).await;
        let mut client = run.beside(Client::login(&run, 1, 1)).await;
        limit(&live, volume, 100);
        let reads = client.reads(50);
        run.beside(client.done(BURST)).await;
        let simple = client.send(cdb::test_unit_ready(), TransferRequest::None);
        assert_eq!(run.beside(client.done(1)).await, [simple], "it is never delayed");
        let ordered = client.send_with(cdb::test_unit_ready(), TransferRequest::None, TaskAttribute::ORDERED);
        let behind = client.send(cdb::test_unit_ready(), TransferRequest::None);
        let read = TransferRequest::In(4096);
        let head = client.send_with(cdb::read16(0, 8), read, TaskAttribute::HEAD_OF_QUEUE);
        let done = run.beside(client.done(53 - BURST)).await;
        assert_eq!(done[0], head);
        assert_eq!(done[1..51 - BURST], reads[BURST..]);
        assert_eq!(done[51 - BURST..], [ordered, behind]);
    });
}

/// What a copy really moved has to be paid for before the next command begins.
#[test]
fn offload_pays_afterwards_for_what_it_moved() {
    in_virtual_time(async {
        let (run, live, volume) = array(0).await;
        let mut client = run.beside(Client::login(&run, 1, 1)).await;
        limit(&live, volume, 100);
        let pattern: Bytes = vec![7; 512].into();
        let written =
            run.beside(client.command(cdb::write_same16(0, 8192, false, false), TransferRequest::Out(pattern)));
        assert_eq!(written.await.status, 0);
        let begun = Instant::now();
        client.reads(1);
        run.beside(client.done(1)).await;
        took(begun, 2400, 2700);
        let charged = live.held().volumes[&volume].charged;
        assert_eq!((charged.offload_operations, charged.offload_bytes), (256 + 3, 4 << 20));
    });
}
