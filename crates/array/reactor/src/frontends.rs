//! The protocols of the array.

use super::frontend::Frontend;
use super::iscsi::Iscsi;
use super::nfs::Nfs;
use super::nfs::start::Start;
use super::setup::ArraySetup;
use super::shared_memory::{Budgets, SharedMemory};
use super::state::Reactor;
use ::control::Control;
use media::Media;
use std::rc::{Rc, Weak};
use unit::Adapter;

/// The protocols of the array.
pub(crate) struct Frontends<M: Media + 'static> {
    pub iscsi: Rc<Iscsi<M>>,
    /// Absent if NFS is not served.
    pub nfs: Option<Rc<Nfs<M>>>,
    all: Vec<Rc<dyn Frontend>>,
}

impl<M: Media + 'static> Frontends<M> {
    /// Creates every protocol, over the units of the reactor. `nfs`: the run of the NFS server, if it is served.
    pub fn new(reactor: &Rc<Reactor<M>>, setup: &ArraySetup, nfs: Option<Start>, control: &Weak<Control>) -> Self {
        let budgets = Budgets::new(setup.memory_bytes);
        let memory = SharedMemory::new(&budgets);
        let iscsi = Rc::new(Iscsi::new(Rc::clone(reactor), setup, budgets, memory.clone()));
        reactor.shortage.add({
            let iscsi = Rc::downgrade(&iscsi);
            move || iscsi.upgrade().into_iter().for_each(|iscsi| iscsi.give_way())
        });
        reactor.units.serve_by(Rc::downgrade(&iscsi) as Weak<dyn Adapter>);
        let listen = &setup.nfs.listen;
        let nfs = nfs.map(|start| Rc::new(Nfs::new(Rc::clone(reactor), start, listen, memory, control)));
        let mut all: Vec<Rc<dyn Frontend>> = vec![Rc::<Iscsi<M>>::clone(&iscsi)];
        if let Some(nfs) = &nfs {
            reactor.shortage.add({
                let nfs = Rc::downgrade(nfs);
                move || nfs.upgrade().into_iter().for_each(|nfs| nfs.give_way())
            });
            reactor.units.serve_by(Rc::downgrade(nfs) as Weak<dyn Adapter>);
            all.push(Rc::<Nfs<M>>::clone(nfs));
        }
        Self { all, nfs, iscsi }
    }

    /// Every protocol.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<dyn Frontend>> {
        self.all.iter()
    }
}
