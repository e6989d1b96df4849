//! An executor: a thread that serves connections for the reactor. It has their sockets, protocol
//! cores, timers and memory for data, and reaches the reactor through a pair of mailboxes.

#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::super::quantum::HostShare;
use super::super::shared_memory::{Budgets, SharedMemory};
use super::super::socket::Socket;
use super::super::wire::Wire;
use super::connection::{ConnectionTask, Served};
use super::messages::{Completion, Dispatch, FunctionCompletion, Instruction, Reply, Report};
use super::nexus_side::NexusSide;
use super::outbox::Outbox;
use super::published::{PublishedDirectory, PublishedView};
use bytes::BytesMut;
use futures_util::future::LocalBoxFuture;
use iscsi::connection::{CloseReason, Connection, Directory, SessionIdentity, Suspended, TaskHandle, TaskManagement};
use iscsi::pdu::LoginStatus;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;

/// Messages to the reactor from which on an executor reads no sockets.
pub(super) const MAILBOX_MESSAGES: usize = 4096;

/// Serves a connection on an executor.
type Serve = Box<dyn FnOnce(Rc<Executor>, Rc<Inbox>) -> LocalBoxFuture<'static, ()> + Send>;

/// Message of the reactor to an executor. Connections have the numbers of the registry.
pub(super) enum Mail {
    /// A connection moves to the executor.
    Serve {
        connection: u64,
        serve: Serve,
    },
    Reply {
        connection: u64,
        reply: Reply,
    },
}

/// Arguments of the thread of an executor.
pub(crate) struct ExecutorStart {
    pub(super) number: usize,
    pub(super) mail: mailbox::Receiver<Mail>,
    pub(super) reports: mailbox::Sender<(u64, Report)>,
    pub(super) budgets: Budgets,
}

impl ExecutorStart {
    /// Number of the executor, from 1 on.
    pub fn number(&self) -> usize {
        self.number
    }
}

/// Messages that have arrived for one connection.
#[derive(Default)]
pub(super) struct Inbox {
    completions: RefCell<VecDeque<Completion>>,
    functions: RefCell<VecDeque<FunctionCompletion>>,
    instructions: RefCell<Vec<Instruction>>,
    wake: Rc<Notify>,
}

/// State of an executor, shared by the tasks of its thread.
pub(super) struct Executor {
    reports: Outbox<(u64, Report)>,
    inboxes: RefCell<FxHashMap<u64, Rc<Inbox>>>,
    memory: SharedMemory,
}

/// Runs an executor until the reactor has closed its mailbox. To be polled within a `LocalSet`.
pub(crate) async fn run(start: ExecutorStart) {
    let ExecutorStart { number, mut mail, reports, budgets } = start;
    let executor = Rc::new(Executor {
        reports: Outbox::new(reports),
        inboxes: RefCell::default(),
        memory: SharedMemory::new(&budgets),
    });
    let delivering = tokio::task::spawn_local({
        let executor = Rc::clone(&executor);
        async move { executor.reports.deliver().await }
    });
    let retrying = executor.memory.retry();
    let mut batch = Vec::new();
    while poll_fn(|context| poll_mail(&mut mail, context, &mut batch)).await {
        for message in batch.drain(..) {
            executor.handle(message);
        }
    }
    delivering.abort();
    retrying.into_iter().for_each(|task| task.abort());
    tracing::debug!(number, "executor ended");
}

fn poll_mail(mail: &mut mailbox::Receiver<Mail>, context: &mut Context<'_>, batch: &mut Vec<Mail>) -> Poll<bool> {
    #[cfg(feature = "simulation")]
    if leaves_out(Mutation::LookBeforeSleep) {
        // The look takes nothing, and sleep follows without one.
        let looked = mail.poll_batch(context, batch);
        let _still_awake = mail.poll_batch(&mut Context::from_waker(std::task::Waker::noop()), &mut Vec::new());
        return looked;
    }
    mail.poll_batch(context, batch)
}

impl Executor {
    fn handle(self: &Rc<Self>, message: Mail) {
        match message {
            Mail::Serve { connection, serve } => {
                let inbox = Rc::<Inbox>::default();
                self.inboxes.borrow_mut().insert(connection, Rc::clone(&inbox));
                tokio::task::spawn_local(serve(Rc::clone(self), inbox));
            }
            Mail::Reply { connection, reply } => {
                // The connection may have ended.
                if let Some(inbox) = self.inboxes.borrow().get(&connection) {
                    inbox.put(reply);
                }
            }
        }
    }
}

impl Inbox {
    fn put(&self, reply: Reply) {
        match reply {
            Reply::Completion(completion) => self.completions.borrow_mut().push_back(completion),
            Reply::Function(function) => self.functions.borrow_mut().push_back(function),
            Reply::Instruction(instruction) => self.instructions.borrow_mut().push(instruction),
        }
        self.wake.notify_one();
    }
}

/// Connection on its way to an executor.
pub(super) struct Moved<S: Socket> {
    pub socket: S::Parcel,
    pub received: BytesMut,
    pub core: Box<Suspended>,
    pub peer: SocketAddr,
    pub connection: u64,
    pub view: Arc<PublishedView>,
    pub share: Option<Arc<HostShare>>,
}

impl<S: Socket> Moved<S> {
    /// Serves the connection on the executor that it is sent to.
    pub fn serve(self) -> Serve {
        Box::new(move |executor, inbox| Box::pin(async move { self.run(executor, inbox).await }))
    }

    async fn run(self, executor: Rc<Executor>, inbox: Rc<Inbox>) {
        let Self { socket, received, core, peer, connection, view, share } = self;
        let memory = executor.memory.clone();
        let wake = Rc::clone(&inbox.wake);
        let directory = PublishedDirectory::new(view);
        let nexus = RemoteNexusSide { connection, executor: Rc::clone(&executor), inbox, directory, share };
        match S::unpack(socket) {
            Ok(socket) => {
                let wire = Wire::new(socket, received, &memory.received);
                let task = ConnectionTask::new(wire, core.resume(), nexus, peer, &memory, &wake);
                match task.serve().await {
                    Served::Ended(_) | Served::Moves { .. } => {}
                }
            }
            Err(error) => tracing::warn!(%peer, %error, "connection dropped: its socket cannot change threads"),
        }
        executor.inboxes.borrow_mut().remove(&connection);
        executor.reports.push((connection, Report::Gone));
    }
}

/// The nexus side of a connection on an executor: messages.
struct RemoteNexusSide {
    connection: u64,
    executor: Rc<Executor>,
    inbox: Rc<Inbox>,
    directory: PublishedDirectory,
    share: Option<Arc<HostShare>>,
}

impl RemoteNexusSide {
    fn report(&self, report: Report) {
        self.executor.reports.push((self.connection, report));
    }
}

impl NexusSide for RemoteNexusSide {
    fn directory(&self) -> &dyn Directory {
        &self.directory
    }

    fn share(&self) -> Option<Arc<HostShare>> {
        self.share.clone()
    }

    /// Logins happen on the reactor's thread.
    fn session_opening(&mut self, core: &mut Connection, _: SessionIdentity) {
        core.reject_login(LoginStatus::TARGET_ERROR);
    }

    fn poll_opening(&mut self, _: &mut Connection, _: &mut Context<'_>) -> bool {
        false
    }

    fn is_full(&self, context: &mut Context<'_>) -> bool {
        self.executor.reports.is_full(context)
    }

    fn start(&mut self, command: Dispatch) {
        self.report(Report::Command(command));
    }

    fn function(&mut self, request: TaskManagement) {
        self.report(Report::Function(request));
    }

    fn abort_all(&mut self) {
        self.report(Report::AbortAll);
    }

    fn aborted(&mut self, number: u64, tasks: Vec<TaskHandle>, any: bool) {
        self.report(Report::Aborted { number, tasks, any });
    }

    fn ask_to_give_way(&mut self) {
        self.report(Report::AskToGiveWay);
    }

    fn closing(&mut self, reason: &CloseReason) {
        self.report(Report::Closing(reason.clone()));
    }

    fn ended(&mut self) {
        self.report(Report::Ended);
    }

    fn take_instructions(&mut self) -> Vec<Instruction> {
        self.inbox.instructions.take()
    }

    fn poll_completion(&mut self, _: &mut Context<'_>) -> Option<Completion> {
        self.inbox.completions.borrow_mut().pop_front()
    }

    fn poll_function(&mut self, _: &mut Context<'_>) -> Option<FunctionCompletion> {
        self.inbox.functions.borrow_mut().pop_front()
    }
}
