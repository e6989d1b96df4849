//! State of the reactor that frontends and the adapters of `control` share.

use super::admission::Admissions;
use super::share::HostCalls;
use super::shared_memory::Shortage;
use super::{ArrayPool, ArrayUnits};
use crate::measurements::Measurements;
use ::control::{Directory, Environment, SharedDirectory};
use media::Media;
use std::cell::Ref;
use std::rc::Rc;
use std::sync::Arc;

/// State that the frontends and the adapters of `control` share.
pub(crate) struct Reactor<M: Media + 'static> {
    pub pool: ArrayPool<M>,
    /// Units of all volumes, whatever protocols serve them.
    pub units: Rc<ArrayUnits<M>>,
    directory: SharedDirectory,
    pub environment: Rc<dyn Environment>,
    pub shortage: Rc<Shortage>,
    /// Limits of volumes and hosts.
    pub admissions: Rc<Admissions>,
    pub calls: HostCalls,
    pub measurements: Arc<Measurements>,
}

impl<M: Media + 'static> Reactor<M> {
    /// `directory`: that of `control`.
    pub fn new(
        pool: ArrayPool<M>,
        units: Rc<ArrayUnits<M>>,
        directory: SharedDirectory,
        environment: Rc<dyn Environment>,
        calls: HostCalls,
        measurements: Arc<Measurements>,
    ) -> Self {
        let (shortage, admissions) = (Rc::default(), Admissions::new());
        Self { pool, units, directory, environment, shortage, admissions, calls, measurements }
    }

    /// Names, hosts and access. Must not be held across an await.
    pub fn directory(&self) -> Ref<'_, Directory> {
        self.directory.borrow()
    }

    /// Relative target port identifier of a portal, which is also its target portal group tag. No
    /// initiator is admitted before it is known.
    pub fn port_identifier(&self, portal: usize) -> u16 {
        self.directory().port_identifiers().get(portal).copied().unwrap_or(0)
    }
}
