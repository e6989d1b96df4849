//! Messages of one thread to another, delivered once the tasks that are ready have run: a batch is
//! what one turn of the thread produced.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Sending end of a mailbox, shared by the tasks of a thread.
#[derive(Debug)]
pub(super) struct Outbox<T> {
    sender: RefCell<mailbox::Sender<T>>,
    /// True if messages wait for delivery.
    dirty: Cell<bool>,
    /// Task that delivers.
    courier: RefCell<Option<Waker>>,
    /// Tasks that wait for room.
    waiting: RefCell<Vec<Waker>>,
}

impl<T> Outbox<T> {
    pub fn new(sender: mailbox::Sender<T>) -> Self {
        Self {
            sender: RefCell::new(sender),
            dirty: Cell::new(false),
            courier: RefCell::default(),
            waiting: RefCell::default(),
        }
    }

    /// Adds a message. It is delivered after the tasks that are ready now.
    pub fn push(&self, message: T) {
        self.sender.borrow_mut().push(message);
        if !self.dirty.replace(true) {
            self.wake_courier();
        }
    }

    /// True if the other thread is behind. The task is woken when there is room.
    pub fn is_full(&self, context: &mut Context<'_>) -> bool {
        let full = self.sender.borrow().is_full();
        if full {
            self.waiting.borrow_mut().push(context.waker().clone());
            self.wake_courier();
        }
        full
    }

    /// Closes the mailbox. The other thread takes what is left.
    pub fn close(&self) {
        self.sender.borrow_mut().close();
    }

    fn wake_courier(&self) {
        if let Some(courier) = &*self.courier.borrow() {
            courier.wake_by_ref();
        }
    }

    /// Delivers messages until it is dropped.
    pub async fn deliver(&self) {
        poll_fn(|context| {
            self.courier.borrow_mut().replace(context.waker().clone());
            let mut sender = self.sender.borrow_mut();
            if self.dirty.take() {
                sender.flush();
            }
            if !self.waiting.borrow().is_empty() && sender.poll_room(context).is_ready() {
                self.waiting.take().into_iter().for_each(Waker::wake);
            }
            Poll::Pending
        })
        .await
    }
}
