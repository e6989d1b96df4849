//! Limits of volumes and hosts in the path of commands: who has to wait, and when they go on.
//!
//! A command asks before it takes its place in the task set, so that one that waits holds no place, lock or extent that
//! others need. It waits as a [`Wait`], a future, in the task of its connection. Dropped, the command has left the
//! queue. Without any policy, a command looks at one flag.

#[cfg(feature = "simulation")]
mod witness;

use super::clock;
#[cfg(feature = "simulation")]
use super::mutations::{Mutation, leaves_out};
use super::quantum::HostShare;
use block::VolumeId;
use qos::{Admission, Class, HostId, Limits, PolicyId, Regulator, Report, Ticket, Work};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::hash_map::Entry;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::sync::Notify;
use unit::AbortFlag;

/// Limits of the array, and the commands that wait for them.
#[derive(Debug)]
pub(crate) struct Admissions {
    regulator: RefCell<Regulator>,
    /// True if no command can have to wait.
    idle: Cell<bool>,
    waiting: RefCell<FxHashMap<Ticket, Rc<Waiting>>>,
    /// ORDERED commands that wait, by host and volume.
    ordered: RefCell<FxHashMap<(HostId, VolumeId), usize>>,
    /// Shares of the hosts that are connected.
    shares: RefCell<FxHashMap<HostId, Weak<HostShare>>>,
    /// Instant for which the timer is set.
    timer: Cell<Option<Instant>>,
    /// Notified when the timer is too late.
    earlier: Notify,
    #[cfg(feature = "simulation")]
    witness: witness::Witness,
}

/// State of a command that waits.
#[derive(Debug, Default)]
struct Waiting {
    released: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A command that asks whether it may begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub host: HostId,
    pub volume: VolumeId,
    /// [`Class::Behind`]: it is never delayed for itself.
    pub class: Class,
    /// It overtakes nothing, and nothing overtakes it but HEAD OF QUEUE.
    pub ordered: bool,
    pub bytes: u64,
    /// Number of its connection; `None` for a step of a command that has begun.
    #[cfg(feature = "simulation")]
    pub connection: Option<u64>,
}

/// Command that waits. Ready when it may begin.
#[derive(Debug)]
pub(crate) struct Wait {
    admissions: Rc<Admissions>,
    arrived: Arrived,
    ticket: Ticket,
    waiting: Rc<Waiting>,
}

impl Admissions {
    /// Without limits.
    pub fn new() -> Rc<Self> {
        Rc::new(Self {
            regulator: RefCell::new(Regulator::new(clock::now())),
            idle: Cell::new(true),
            waiting: RefCell::default(),
            ordered: RefCell::default(),
            shares: RefCell::default(),
            timer: Cell::new(None),
            earlier: Notify::new(),
            #[cfg(feature = "simulation")]
            witness: witness::Witness::default(),
        })
    }

    /// True if no command can have to wait.
    pub fn is_idle(&self) -> bool {
        self.idle.get()
    }

    /// Asks for a command that has arrived. `None`: it may begin.
    pub fn arrive(self: &Rc<Self>, arrived: Arrived) -> Option<Wait> {
        let Arrived { host, volume, ordered, bytes, .. } = arrived;
        let behind_ordered = self.ordered.borrow().contains_key(&(host, volume));
        let class = match arrived.class {
            Class::Behind if !ordered && !behind_ordered => return None,
            Class::Heartbeat if ordered || behind_ordered => Class::Ordinary,
            class => class,
        };
        let admission = self.regulator.borrow_mut().arrive(clock::now(), Work { host, volume, class, bytes });
        let Admission::Waits(ticket) = admission else { return None };
        let waiting = Rc::<Waiting>::default();
        self.waiting.borrow_mut().insert(ticket, Rc::clone(&waiting));
        if ordered {
            *self.ordered.borrow_mut().entry((host, volume)).or_default() += 1;
        }
        self.set_timer();
        #[cfg(feature = "simulation")]
        self.witness.waits();
        Some(Wait { admissions: Rc::clone(self), arrived, ticket, waiting })
    }

    /// Asks for one operation more of a command that has begun. It goes before commands of its host and volume that
    /// have not.
    pub fn next_step(self: &Rc<Self>, host: HostId, volume: VolumeId) -> Option<Wait> {
        self.arrive(Arrived {
            host,
            volume,
            class: Class::First,
            ordered: false,
            bytes: 0,
            #[cfg(feature = "simulation")]
            connection: None,
        })
    }

    /// Charges a host for work on a volume beyond what its command was charged when it began.
    pub fn charge(&self, host: HostId, volume: VolumeId, operations: u64, bytes: u64) {
        self.regulator.borrow_mut().charge(clock::now(), host, volume, operations, bytes);
    }

    /// Sets or removes the limits of a policy. `shared`: its volumes share one allowance.
    pub fn set_policy(&self, policy: PolicyId, limits: Option<(Limits, bool)>) {
        self.regulator.borrow_mut().set_policy(clock::now(), policy, limits);
        self.changed();
    }

    /// Attaches a volume to a policy, or to none.
    pub fn set_volume_policy(&self, volume: VolumeId, policy: Option<PolicyId>) {
        self.regulator.borrow_mut().attach_volume(clock::now(), volume, policy);
        self.changed();
    }

    /// Attaches a host to a policy, or to none.
    pub fn set_host_policy(&self, host: HostId, policy: Option<PolicyId>) {
        self.regulator.borrow_mut().attach_host(clock::now(), host, policy);
        self.changed();
    }

    /// Delays and charged costs so far.
    pub fn report(&self) -> Report {
        self.regulator.borrow().report(clock::now())
    }

    /// Checks that exactly the commands wait that know of it, and that those of a nexus began in their order.
    #[cfg(feature = "simulation")]
    pub fn check(&self) -> Result<(), String> {
        self.witness.check(self.waiting())
    }

    /// Number of commands that wait.
    #[cfg(feature = "simulation")]
    pub fn waiting(&self) -> usize {
        self.regulator.borrow().waiting()
    }

    /// Share of a host, for its connections.
    pub fn share_of(&self, host: HostId) -> Arc<HostShare> {
        let mut shares = self.shares.borrow_mut();
        if let Some(share) = shares.get(&host).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(HostShare::new(host, self.regulator.borrow().host_weight(host)));
        shares.insert(host, Arc::downgrade(&share));
        share
    }

    /// Follows a change of policies: commands that wait may go on, and hosts have other weights.
    fn changed(&self) {
        for (host, share) in &*self.shares.borrow() {
            if let Some(share) = share.upgrade() {
                share.set_weight(self.regulator.borrow().host_weight(*host));
            }
        }
        self.update_idle();
        self.set_timer();
    }

    /// Notes that an ORDERED command waits no longer.
    fn ordered_ended(&self, host: HostId, volume: VolumeId) {
        if let Entry::Occupied(mut count) = self.ordered.borrow_mut().entry((host, volume)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn update_idle(&self) {
        self.idle.set(self.regulator.borrow().is_idle());
    }

    /// Wakes the timer if it is set for too late.
    fn set_timer(&self) {
        let due = self.regulator.borrow().due();
        if due.is_some_and(|due| self.timer.get().is_none_or(|timer| due < timer)) {
            self.earlier.notify_one();
        }
    }

    /// Lets commands begin that have waited, at their instants. Never returns.
    pub async fn run(self: Rc<Self>) {
        let mut released = Vec::new();
        loop {
            let due = self.regulator.borrow().due();
            self.timer.set(due);
            if let Some(due) = due.filter(|due| *due > clock::now()) {
                let mut sleep = pin!(tokio::time::sleep_until(due.into()));
                let mut earlier = pin!(self.earlier.notified());
                poll_fn(|context| match sleep.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => earlier.as_mut().poll(context),
                })
                .await;
            } else if due.is_none() {
                self.earlier.notified().await;
            }
            self.release(&mut released);
        }
    }

    /// Wakes the commands that may begin now.
    fn release(&self, released: &mut Vec<Ticket>) {
        self.regulator.borrow_mut().release(clock::now(), released);
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::ReleasedInOrder) {
            released.reverse();
        }
        for ticket in released.drain(..) {
            if let Some(waiting) = self.waiting.borrow_mut().remove(&ticket) {
                waiting.released.set(true);
                #[cfg(feature = "simulation")]
                self.witness.waits_no_longer();
                if let Some(waker) = waiting.waker.take() {
                    waker.wake();
                }
            }
        }
        self.update_idle();
    }
}

impl Wait {
    /// Ready when the command may begin, or is aborted: it has left the queue then.
    pub async fn or_abort(mut self, abort: &AbortFlag) {
        poll_fn(|context| {
            let aborted = abort.is_set_or_wakes(context.waker());
            #[cfg(feature = "simulation")]
            let aborted = aborted && !leaves_out(Mutation::AbortWithdraws);
            if aborted { Poll::Ready(()) } else { Pin::new(&mut self).poll(context) }
        })
        .await;
        #[cfg(feature = "simulation")]
        if self.waiting.released.get() && !abort.is_set() {
            self.admissions.witness.begins(&self.arrived, self.ticket);
        }
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.released.get() {
            return Poll::Ready(());
        }
        let mut waker = self.waiting.waker.borrow_mut();
        if waker.as_ref().is_none_or(|waker| !waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Self { admissions, arrived, ticket, waiting } = self;
        let Arrived { host, volume, ordered, .. } = *arrived;
        if ordered {
            admissions.ordered_ended(host, volume);
        }
        if waiting.released.get() {
            return;
        }
        #[cfg(feature = "simulation")]
        admissions.witness.waits_no_longer();
        #[cfg(feature = "simulation")]
        let stays = leaves_out(Mutation::TicketsReturned);
        #[cfg(not(feature = "simulation"))]
        let stays = false;
        if !stays {
            admissions.waiting.borrow_mut().remove(ticket);
            admissions.regulator.borrow_mut().withdraw(host, volume, *ticket);
            admissions.update_idle();
        }
    }
}
