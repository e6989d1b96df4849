//! The protocols of the array.

use super::frontend::Frontend;
use super::iscsi::{Iscsi, largest_transfer_bytes};
use super::setup::ArraySetup;
use super::shared_memory::{Budgets, SharedMemory};
use super::state::Reactor;
use media::Media;
use std::rc::{Rc, Weak};
use unit::Adapter;

/// The protocols of the array.
pub(crate) struct Frontends<M: Media + 'static> {
    pub iscsi: Rc<Iscsi<M>>,
    all: Vec<Rc<dyn Frontend>>,
}

impl<M: Media + 'static> Frontends<M> {
    /// Creates every protocol, over the units of the reactor.
    pub fn new(reactor: &Rc<Reactor<M>>, setup: &ArraySetup) -> Self {
        let budgets = Budgets::new(setup.memory_bytes, largest_transfer_bytes());
        let memory = SharedMemory::new(&budgets);
        let iscsi = Rc::new(Iscsi::new(Rc::clone(reactor), setup, budgets, memory));
        reactor.shortage.add({
            let iscsi = Rc::downgrade(&iscsi);
            move || iscsi.upgrade().into_iter().for_each(|iscsi| iscsi.give_way())
        });
        reactor.units.serve_by(Rc::downgrade(&iscsi) as Weak<dyn Adapter>);
        Self { all: vec![Rc::<Iscsi<M>>::clone(&iscsi)], iscsi }
    }

    /// Every protocol.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<dyn Frontend>> {
        self.all.iter()
    }
}
