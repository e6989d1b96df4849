//! A session: [`iscsi::initiator`] on a TCP connection, shared by the tasks of one thread.

use crate::driver::Driver;
use crate::in_flight::{Answer, InFlight};
use crate::url::{Url, UserSecret};
use bytes::Bytes;
use data_mover::Gate;
use iscsi::chap::{Algorithm, Credentials};
use iscsi::connection::{SessionType, TargetRecord};
use iscsi::initiator::{Chap, Completion, Config, Event, Initiator, Request, TransferRequest};
use iscsi::pdu::{LoginStatus, LogoutReason, TaskAttribute, TaskManagementFunction, TaskManagementResponse};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Reason why a session could not be set up, or was lost.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    /// The TCP connection failed.
    #[error("cannot connect to {portal}: {reason}")]
    Connect {
        /// Host and port.
        portal: String,
        /// Error of the operating system.
        reason: String,
    },
    /// The target refused the login.
    #[error("{target} at {portal} refused the login: {status:?}{}", .moved.as_ref().map(|to| format!("; it has moved to {to}")).unwrap_or_default())]
    Login {
        /// Host and port.
        portal: String,
        /// Target name.
        target: String,
        /// Login status.
        status: LoginStatus,
        /// Address that the target has moved to.
        moved: Option<String>,
    },
    /// The connection broke, or the target violated the protocol. The effect of commands in flight
    /// is unknown.
    #[error("the connection to {portal} is lost: {reason}")]
    Lost {
        /// Host and port.
        portal: String,
        /// Reason of the loss.
        reason: String,
    },
    /// No answer came in time; the session is closed, so that no command takes effect late.
    #[error("no answer from {portal} within {} s", .limit.as_secs_f64())]
    Timeout {
        /// Host and port.
        portal: String,
        /// Time limit.
        limit: Duration,
    },
}

/// Distance between the qualifiers of a host's sessions: more than the number of hosts in one
/// process.
const ISID_STEP: u16 = 0x1000;
/// Pause between two checks for outstanding commands.
const LOOK: Duration = Duration::from_millis(1);

/// Settings of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// InitiatorName.
    pub initiator_name: String,
    /// Last bytes of the ISID, which distinguish sessions of one process, initiator name and
    /// target. Those of different processes differ in the other bytes.
    pub qualifier: u16,
    /// Time limit for connecting, for login and for each command.
    pub timeout: Duration,
}

impl Options {
    /// Options for another session, number `number` of a host. Sessions with the same ISID would
    /// replace each other.
    pub fn with_other_isid(&self, number: usize) -> Self {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        Self { qualifier: self.qualifier.wrapping_add(number.wrapping_mul(ISID_STEP)), ..self.clone() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { initiator_name: "iqn.2026-01.org.example:host".into(), qualifier: 1, timeout: Duration::from_secs(30) }
    }
}

/// Random part of the ISID (RFC 7143 §11.12.5, T=10b). It is the same for all sessions of this
/// process, so that one ISID is one session. It differs between processes: two commands on one
/// machine must not end each other's sessions.
fn isid_of_this_process() -> [u8; 3] {
    static RANDOM: std::sync::LazyLock<[u8; 3]> = std::sync::LazyLock::new(|| {
        // The keys of a hasher come from the system's random numbers.
        let [first, second, third, ..] = RandomState::new().build_hasher().finish().to_be_bytes();
        [first, second, third]
    });
    *RANDOM
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// SCSI commands sent.
    pub commands: u64,
    /// TCP payload sent, in bytes.
    pub sent_bytes: u64,
    /// TCP payload received, in bytes.
    pub received_bytes: u64,
}

/// State shared by the session and its driver.
pub(crate) struct Inner {
    /// Write half of the connection; `None` once the session is lost.
    pub(crate) writer: RefCell<Option<OwnedWriteHalf>>,
    pub(crate) machine: RefCell<Initiator>,
    /// Output taken from the machine, not written yet.
    pub(crate) output: RefCell<VecDeque<Bytes>>,
    pub(crate) in_flight: RefCell<InFlight>,
    /// Waker of the driver, until it has been woken to write.
    pub(crate) driver: Cell<Option<Waker>>,
    /// Answers awaited by requests of the session: login, list of targets, task management, logout.
    pub(crate) events: RefCell<VecDeque<Event>>,
    pub(crate) event: Notify,
    /// Nothing is written once any gate is closed.
    gates: RefCell<Vec<Gate>>,
    lost: RefCell<Option<SessionError>>,
    counters: Cell<Counters>,
    pub(crate) portal: String,
    pub(crate) timeout: Duration,
}

/// A session. Clones are the same session; it is closed with the last of them.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Rc<Inner>,
    _driver: Rc<DriverTask>,
}

/// Task of the driver; aborted with the last [`Session`].
struct DriverTask(JoinHandle<()>);

impl Drop for DriverTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn config(url: &Url, options: &Options) -> Config {
    let mut config = Config::new(&options.initiator_name, &url.target);
    let [high, low] = options.qualifier.to_be_bytes();
    let [first, second, third] = isid_of_this_process();
    config.isid = [0x80, first, second, third, high, low];
    let credentials = |pair: &UserSecret| Credentials::new(&pair.user, pair.secret.as_bytes());
    config.chap = url.chap.as_ref().map(|own| Chap {
        own: credentials(own),
        target: url.target_chap.as_ref().map(credentials),
        algorithms: vec![Algorithm::Sha256, Algorithm::Md5],
    });
    if url.header_digest {
        config.header_digest = "CRC32C".into();
    }
    if url.data_digest {
        config.data_digest = "CRC32C".into();
    }
    config
}

impl Session {
    /// Connects and logs in. Requires a `LocalSet` or a local runtime of tokio.
    pub async fn connect(url: &Url, options: &Options) -> Result<Self, SessionError> {
        Self::connect_with(url, options, config(url, options)).await
    }

    /// Lists the targets at the portal of the URL.
    pub async fn discover(url: &Url, options: &Options) -> Result<Vec<TargetRecord>, SessionError> {
        let mut config = config(url, options);
        config.session_type = SessionType::Discovery;
        let session = Self::connect_with(url, options, config).await?;
        session.inner.machine.borrow_mut().send_targets("All");
        session.inner.schedule();
        let answer = session.wait_event(|event| matches!(event, Event::Targets(_))).await?;
        session.logout().await?;
        match answer {
            Event::Targets(targets) => Ok(targets),
            _ => Ok(Vec::new()),
        }
    }

    async fn connect_with(url: &Url, options: &Options, config: Config) -> Result<Self, SessionError> {
        let portal = url.portal();
        let failed = |reason: String| SessionError::Connect { portal: portal.clone(), reason };
        let connecting = timeout(options.timeout, TcpStream::connect((url.host.as_str(), url.port)));
        let stream = match connecting.await {
            Ok(stream) => stream.map_err(|error| failed(error.to_string()))?,
            Err(_) => return Err(failed(format!("no answer within {} s", options.timeout.as_secs_f64()))),
        };
        stream.set_nodelay(true).map_err(|error| failed(error.to_string()))?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| failed(error.to_string()))?;
        let (reader, writer) = stream.into_split();
        let inner = Rc::new(Inner {
            writer: RefCell::new(Some(writer)),
            machine: RefCell::new(Initiator::new(config, seed)),
            output: RefCell::default(),
            in_flight: RefCell::default(),
            driver: Cell::default(),
            events: RefCell::default(),
            event: Notify::new(),
            gates: RefCell::default(),
            lost: RefCell::default(),
            counters: Cell::default(),
            portal,
            timeout: options.timeout,
        });
        let driver = tokio::task::spawn_local(Driver::new(inner.clone(), reader));
        let session = Self { inner, _driver: Rc::new(DriverTask(driver)) };
        let answer = session.wait_event(|event| matches!(event, Event::LoggedIn { .. } | Event::LoginFailed { .. }));
        match answer.await? {
            Event::LoginFailed { status, target_address } => Err(SessionError::Login {
                portal: session.inner.portal.clone(),
                target: url.target.clone(),
                status,
                moved: target_address,
            }),
            _ => Ok(session),
        }
    }

    /// Host and port.
    pub fn portal(&self) -> &str {
        &self.inner.portal
    }

    /// Traffic so far.
    pub fn counters(&self) -> Counters {
        self.inner.counters.get()
    }

    /// Number of commands without an answer, sent or waiting for the window.
    pub fn outstanding(&self) -> usize {
        self.inner.in_flight.borrow().len()
    }

    /// Waits until no command is outstanding, or until `limit`, after which no answer is expected.
    pub async fn wait_idle(&self, limit: Duration) {
        let begun = Instant::now();
        while self.outstanding() > 0 && begun.elapsed() < limit {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sends a command and waits for its end. If the future is dropped, the command continues and
    /// its answer is discarded.
    pub async fn execute(
        &self,
        lun: [u8; 8],
        cdb: [u8; 16],
        transfer: TransferRequest,
    ) -> Result<Completion, SessionError> {
        let inner = &self.inner;
        inner.check()?;
        let request = Request { lun, cdb, attribute: TaskAttribute::SIMPLE, immediate: false, transfer };
        let tag = inner.machine.borrow_mut().command(request);
        inner.in_flight.borrow_mut().insert(tag);
        inner.count(|counters| counters.commands += 1);
        // Not written here, so that the commands of all ready tasks are sent together.
        inner.schedule();
        Answer::new(inner, tag).await.ok_or_else(|| inner.lost())
    }

    /// Sends a task management function for a logical unit, and waits for the response.
    pub async fn manage_tasks(
        &self,
        function: TaskManagementFunction,
        lun: [u8; 8],
    ) -> Result<TaskManagementResponse, SessionError> {
        self.inner.check()?;
        let tag = self.inner.machine.borrow_mut().task_management(function, lun, None);
        self.inner.schedule();
        let answered =
            |event: &Event| matches!(event, Event::TaskManagement { initiator_task_tag: of, .. } if *of == tag);
        match self.wait_event(answered).await? {
            Event::TaskManagement { response, .. } => Ok(response),
            _ => Ok(TaskManagementResponse::REJECTED),
        }
    }

    /// Whether the session is still usable.
    pub fn is_up(&self) -> bool {
        self.inner.check().is_ok()
    }

    /// Waits until the session is lost, and returns the reason.
    pub async fn ended(&self) -> SessionError {
        loop {
            let arrived = self.inner.event.notified();
            if let Err(error) = self.inner.check() {
                return error;
            }
            arrived.await;
        }
    }

    /// Stops all writing once the gate is closed, also of queued commands: the session is then
    /// lost.
    pub fn only_while(&self, gate: Gate) {
        self.inner.gates.borrow_mut().push(gate);
    }

    /// Logs out and closes the connection. A target that closes the connection without an answer,
    /// as istgt sometimes does, has complied, unless commands were outstanding.
    pub async fn logout(self) -> Result<(), SessionError> {
        self.inner.check()?;
        let idle = self.outstanding() == 0;
        self.inner.machine.borrow_mut().logout(LogoutReason::CLOSE_SESSION);
        self.inner.schedule();
        match self.wait_event(|event| matches!(event, Event::LoggedOut(_))).await {
            Err(SessionError::Lost { .. }) if idle => Ok(()),
            answered => answered.map(drop),
        }
    }

    /// Cuts the connection without a logout, like a host that dies.
    pub fn cut(&self) {
        let reason = "cut by this host".to_owned();
        self.inner.lose(SessionError::Lost { portal: self.inner.portal.clone(), reason });
    }

    async fn wait_event(&self, wanted: impl Fn(&Event) -> bool) -> Result<Event, SessionError> {
        let inner = &self.inner;
        let found = async {
            loop {
                let arrived = inner.event.notified();
                let position = inner.events.borrow().iter().position(&wanted);
                if let Some(event) = position.and_then(|position| inner.events.borrow_mut().remove(position)) {
                    return Ok(event);
                }
                inner.check()?;
                arrived.await;
            }
        };
        match timeout(inner.timeout, found).await {
            Ok(found) => found,
            Err(_) => {
                inner.lose(SessionError::Timeout { portal: inner.portal.clone(), limit: inner.timeout });
                Err(inner.lost())
            }
        }
    }
}

impl Inner {
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        self.lost.borrow().clone().map_or(Ok(()), Err)
    }

    /// Whether all gates are open.
    pub(crate) fn may_write(&self) -> bool {
        self.gates.borrow().iter().all(|gate| gate())
    }

    fn lost(&self) -> SessionError {
        let unknown = || SessionError::Lost { portal: self.portal.clone(), reason: "the session was closed".into() };
        self.lost.borrow().clone().unwrap_or_else(unknown)
    }

    /// Ends the session: all waiting tasks get the error, and the connection is closed.
    pub(crate) fn lose(&self, error: SessionError) {
        self.lost.borrow_mut().get_or_insert(error);
        self.writer.take();
        self.output.take();
        self.in_flight.borrow_mut().end();
        self.event.notify_waiters();
        self.schedule();
    }

    /// Wakes the driver, to run after the tasks that are ready now.
    pub(crate) fn schedule(&self) {
        if let Some(waker) = self.driver.take() {
            waker.wake();
        }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }
}
