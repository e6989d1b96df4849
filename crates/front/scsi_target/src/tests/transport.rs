//! Stand-in for the transport: passes what other clients of a unit cause to the target, and records
//! requests to abort commands.

use crate::ScsiTarget;
use block::VolumeId;
use block::memory::MemoryDevice;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::Poll;
use unit::reservations::Notice;
use unit::{Adapter, Registrant};

pub(crate) struct TestTransport {
    this: Weak<Self>,
    target: Weak<ScsiTarget<MemoryDevice>>,
    /// Calls of `abort`.
    pub aborted: RefCell<Vec<(VolumeId, Vec<Registrant>)>>,
    /// `abort` does not complete until this is false.
    pub holds_aborts: Cell<bool>,
}

impl TestTransport {
    pub fn new(target: &Rc<ScsiTarget<MemoryDevice>>) -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            this: this.clone(),
            target: Rc::downgrade(target),
            aborted: RefCell::default(),
            holds_aborts: Cell::default(),
        })
    }
}

impl Adapter for TestTransport {
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        self.target.upgrade().unwrap().notify(volume, registrant, notice);
    }

    fn content_discarded(&self, volume: VolumeId) {
        self.target.upgrade().unwrap().content_discarded(volume);
    }

    fn abort(&self, volume: VolumeId, registrants: &[Registrant]) -> Pin<Box<dyn Future<Output = ()>>> {
        self.aborted.borrow_mut().push((volume, registrants.to_vec()));
        let this = self.this.upgrade().unwrap();
        Box::pin(poll_fn(move |_| if this.holds_aborts.get() { Poll::Pending } else { Poll::Ready(()) }))
    }
}
