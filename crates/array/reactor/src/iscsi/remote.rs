//! Connections on executors, as the reactor's thread sees them: a link for each executor, which
//! exchanges messages with it, and a task for each connection, which is its nexus side.

#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::super::quantum::{Quantum, let_others_run};
use super::super::socket::Socket;
use super::Iscsi;
use super::directory::PortalDirectory;
use super::executor::{ExecutorStart, MAILBOX_MESSAGES, Mail, Moved};
use super::messages::{Instruction, Reply, Report};
use super::nexus_tasks::NexusTasks;
use super::outbox::Outbox;
use super::published::{PublishedView, View};
use super::registry::{Member, Order};
use bytes::BytesMut;
use iscsi::connection::{Directory as _, Suspended};
use media::Media;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Reports of one connection that its task has not handled.
struct Inbox {
    reports: RefCell<VecDeque<Report>>,
    wake: Rc<Notify>,
    #[cfg(feature = "simulation")]
    delay: std::cell::Cell<u32>,
}

impl Inbox {
    fn new(wake: &Rc<Notify>) -> Self {
        Self {
            reports: RefCell::default(),
            wake: Rc::clone(wake),
            #[cfg(feature = "simulation")]
            delay: std::cell::Cell::default(),
        }
    }

    fn put(&self, report: Report) {
        self.reports.borrow_mut().push_back(report);
        self.wake.notify_one();
    }
}

/// The reactor's end of the mailboxes of an executor.
pub(super) struct ExecutorLink {
    mail: Outbox<Mail>,
    inboxes: RefCell<FxHashMap<u64, Rc<Inbox>>>,
}

/// Tasks of a link.
pub(super) struct LinkTasks {
    pub link: Rc<ExecutorLink>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for LinkTasks {
    /// Ends the executor.
    fn drop(&mut self) {
        self.link.mail.close();
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl ExecutorLink {
    async fn receive(self: Rc<Self>, mut reports: mailbox::Receiver<(u64, Report)>) {
        let mut batch = Vec::new();
        while poll_fn(|context| reports.poll_batch(context, &mut batch)).await {
            let inboxes = self.inboxes.borrow();
            for (connection, report) in batch.drain(..) {
                if let Some(inbox) = inboxes.get(&connection) {
                    inbox.put(report);
                }
            }
        }
    }

    fn reply(&self, connection: u64, reply: Reply) {
        self.mail.push(Mail::Reply { connection, reply });
    }
}

/// Connection whose view of the array is published to another thread.
pub(super) struct ViewPublisher<M: Media + 'static> {
    directory: PortalDirectory<M>,
    initiator: Arc<str>,
    published: Arc<PublishedView>,
}

impl<M: Media + 'static> ViewPublisher<M> {
    fn view(directory: &PortalDirectory<M>, initiator: &str) -> Option<View> {
        let units = directory.iscsi.target.view_of(directory.nexus?);
        Some(View { units, targets: directory.targets(initiator) })
    }

    /// Publishes what has changed.
    pub fn refresh(&self) {
        if let Some(view) = Self::view(&self.directory, &self.initiator) {
            self.published.replace(view);
        }
    }
}

impl<M: Media + 'static> Iscsi<M> {
    /// Adds an executor. The caller runs it ([`run`](super::executor::run)) on a thread of its own.
    pub(crate) fn add_executor(&self) -> ExecutorStart {
        let (mail, mail_receiver) = mailbox::mailbox(usize::MAX);
        let (reports_sender, reports) = mailbox::mailbox(MAILBOX_MESSAGES);
        let link = Rc::new(ExecutorLink { mail: Outbox::new(mail), inboxes: RefCell::default() });
        let receiving = tokio::task::spawn_local(Rc::clone(&link).receive(reports));
        let delivering = tokio::task::spawn_local({
            let link = Rc::clone(&link);
            async move { link.mail.deliver().await }
        });
        let mut links = self.links.borrow_mut();
        links.push(LinkTasks { link, tasks: [receiving, delivering] });
        ExecutorStart {
            number: links.len(),
            mail: mail_receiver,
            reports: reports_sender,
            budgets: self.budgets.clone(),
        }
    }

    /// Ends the executors, which serve no connection any more.
    pub(crate) fn remove_executors(&self) {
        self.links.take();
    }

    /// Connections on this thread that can move to an executor.
    pub(crate) fn movable(&self) -> Vec<Movable> {
        let members = self.registry.members().into_iter();
        let local = members.filter(|member| member.normal.get() && member.executor.get() == 0);
        local.map(Movable).collect()
    }

    /// Number of executors besides this thread.
    pub(crate) fn executors(&self) -> usize {
        self.links.borrow().len()
    }

    /// Publishes changes of access, size or content to connections on executors.
    pub(super) fn refresh_views(&self) {
        self.publishers.borrow_mut().retain(|publisher| publisher.strong_count() > 0);
        for publisher in self.publishers.borrow().iter().filter_map(std::rc::Weak::upgrade) {
            publisher.refresh();
        }
    }
}

/// Connection that can move to an executor.
pub(crate) struct Movable(Rc<Member>);

impl Movable {
    /// Number of the connection.
    pub fn number(&self) -> u64 {
        self.0.id
    }

    /// Commands, and 4 KiB of data, so far: a measure of the work that the connection causes.
    pub fn work(&self) -> u64 {
        self.0.commands.get() + (self.0.read_bytes.get() + self.0.written_bytes.get()) / 4096
    }

    /// Moves it when it has nothing in flight. `executor`: 1 to [`Iscsi::executors`].
    pub fn move_to(&self, executor: usize) {
        self.0.order(Order::Move(executor));
    }
}

/// Nexus side of a connection on an executor.
struct Representative<M: Media + 'static> {
    side: NexusTasks<M>,
    link: Rc<ExecutorLink>,
    inbox: Rc<Inbox>,
    woken: Pin<Box<dyn Future<Output = ()>>>,
    /// Turns on the reactor's thread, beside those of its own connections.
    quantum: Quantum,
}

fn wait_for(wake: Rc<Notify>) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move { wake.notified().await })
}

/// Sends a connection to an executor, and is its nexus side until it has ended.
pub(super) async fn represent<M: Media + 'static, S: Socket>(
    side: NexusTasks<M>,
    directory: PortalDirectory<M>,
    (socket, received, core): (S, BytesMut, Box<Suspended>),
    executor: usize,
) {
    let member = Rc::clone(side.member());
    let iscsi = Rc::clone(side.iscsi());
    let link = iscsi.links.borrow().get(executor.wrapping_sub(1)).map(|tasks| Rc::clone(&tasks.link));
    let initiator = member.session.borrow().as_ref().map(|session| Arc::clone(&session.initiator_name));
    let view = initiator.as_ref().and_then(|initiator| ViewPublisher::view(&directory, initiator));
    let (Some(link), Some(initiator), Some(view)) = (link, initiator, view) else { return side.end().await };
    let Ok(socket) = socket.pack() else { return side.end().await };
    let published = PublishedView::new(view);
    let publisher = Rc::new(ViewPublisher { directory, initiator, published: Arc::clone(&published) });
    iscsi.publishers.borrow_mut().push(Rc::downgrade(&publisher));
    member.executor.set(executor);

    let (connection, peer) = (member.id, member.peer);
    let inbox = Rc::new(Inbox::new(&member.wake));
    link.inboxes.borrow_mut().insert(connection, Rc::clone(&inbox));
    let share = member.host.share.borrow().clone();
    let quantum = Quantum::new(share.clone());
    let moved = Moved::<S> { socket, received, core, peer, connection, view: published, share };
    link.mail.push(Mail::Serve { connection, serve: moved.serve() });
    tracing::debug!(%peer, executor, "connection moved");
    let woken = wait_for(Rc::clone(&member.wake));
    let mut representative = Representative { side, link, inbox, woken, quantum };
    poll_fn(|context| representative.poll(context)).await;
    let Representative { side, link, woken, .. } = representative;
    drop(woken);
    link.inboxes.borrow_mut().remove(&connection);
    drop(publisher);
    side.end().await;
}

impl<M: Media + 'static> Representative<M> {
    /// Does the work that is possible now, as much as other connections may wait for. Ready when the connection is
    /// over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.quantum.begin();
        loop {
            let mut progress = false;
            if self.woken.as_mut().poll(context).is_ready() {
                progress = true;
                self.woken = wait_for(Rc::clone(&self.inbox.wake));
                self.follow_instructions();
            }
            while self.takes_report()
                && let Some(report) = self.next_report(context)
            {
                progress = true;
                if matches!(report, Report::Gone) {
                    return Poll::Ready(());
                }
                self.handle(report);
            }
            let connection = self.side.member().id;
            while let Some(completion) = self.side.poll_completion(context) {
                progress = true;
                self.link.reply(connection, Reply::Completion(completion));
            }
            while let Some(function) = self.side.poll_function(context) {
                progress = true;
                self.link.reply(connection, Reply::Function(function));
            }
            if !self.inbox.reports.borrow().is_empty() && self.quantum.is_over() {
                let_others_run(context);
                return Poll::Pending;
            }
            if !progress {
                return Poll::Pending;
            }
        }
    }

    /// True if the turn has time for the next report.
    fn takes_report(&mut self) -> bool {
        let is_command = matches!(self.inbox.reports.borrow().front(), Some(Report::Command(_)));
        !is_command || self.quantum.takes_command()
    }

    fn next_report(&self, _context: &Context<'_>) -> Option<Report> {
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::CommandsFirst) {
            return self.next_overtaking(_context);
        }
        self.inbox.reports.borrow_mut().pop_front()
    }

    /// Functions first. Now and then commands wait, so that a function finds some to pass.
    #[cfg(feature = "simulation")]
    fn next_overtaking(&self, context: &Context<'_>) -> Option<Report> {
        let mut reports = self.inbox.reports.borrow_mut();
        if let Some(at) = reports.iter().position(|report| matches!(report, Report::Function(_))) {
            return reports.remove(at);
        }
        self.inbox.delay.set((self.inbox.delay.get() + 1) % 16);
        if matches!(reports.front(), Some(Report::Command(_))) && self.inbox.delay.get() != 0 {
            context.waker().wake_by_ref();
            return None;
        }
        reports.pop_front()
    }

    fn follow_instructions(&mut self) {
        let connection = self.side.member().id;
        for instruction in self.side.take_instructions() {
            #[cfg(feature = "simulation")]
            if leaves_out(Mutation::SettleBoth)
                && let Instruction::Abort { number, .. } = &instruction
            {
                self.side.aborted_in_reactor(*number);
            }
            match instruction {
                // The connection has moved already.
                Instruction::Move(_) => {}
                Instruction::Share(share) => {
                    self.quantum.set_host(Some(Arc::clone(&share)));
                    self.link.reply(connection, Reply::Instruction(Instruction::Share(share)));
                }
                instruction => self.link.reply(connection, Reply::Instruction(instruction)),
            }
        }
    }

    fn handle(&mut self, report: Report) {
        let side = &mut self.side;
        match report {
            Report::Command(command) => side.start(command),
            Report::Function(request) => side.function(request),
            Report::AbortAll => side.abort_all(),
            Report::Aborted { number, tasks, any } => side.aborted(number, tasks, any),
            Report::AskToGiveWay => side.ask_to_give_way(),
            Report::Closing(reason) => side.closing(&reason),
            Report::Ended => side.ended(),
            Report::Gone => {}
        }
    }
}
