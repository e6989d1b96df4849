//! NFS as a [`Frontend`]: listeners, connections and the server behind them, over the shares of the pool.

mod administration;
mod connection;
mod copies;
mod epochs;
mod file_system;
pub(super) mod files;
mod incoming;
pub(super) mod listener;
mod outgoing;
mod publish;
mod records;
mod registry;
pub(super) mod rollback;
mod service;
pub(super) mod start;
#[cfg(test)]
mod tests;

pub(super) use publish::rules;

use super::frontend::Frontend;
use super::listener::accept_each;
use super::shared_memory::SharedMemory;
use super::state::Reactor;
use crate::portal::advertised;
use block::VolumeId;
use control::{
    Change, ConnectionCounters, Control, Directory, LoginAttempt, PoolRefusal, RefusedLogins, Registration, SessionInfo,
};
use file_system::ShareFiles;
use futures_util::future::LocalBoxFuture;
use media::Media;
use nfs_server::Statistics;
use pool::ObjectId;
use registry::Order;
use service::{Service, Surroundings};
use start::Start;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use unit::reservations::Notice;
use unit::{Adapter, ClientId, Registrant};

/// Time for replies to leave at shutdown, and again for calls to end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Interval in which access times are written that are only in memory.
const ACCESS_TIMES: Duration = Duration::from_secs(3600);

/// The NFS server over the shares of the pool.
pub(crate) struct Nfs<M: Media + 'static> {
    reactor: Rc<Reactor<M>>,
    service: Rc<Service<ShareFiles<M>>>,
    /// Addresses of the listeners as hosts see them.
    portals: Vec<String>,
    /// Published snapshots of each share.
    snapshots: RefCell<BTreeMap<ObjectId, BTreeSet<ObjectId>>>,
    /// True if calls may be in progress that are no longer allowed.
    unsettled: Cell<bool>,
}

impl<M: Media + 'static> Nfs<M> {
    /// `listen`: addresses of the listeners, with their ports. `control` stores records of clients.
    pub fn new(
        reactor: Rc<Reactor<M>>,
        start: Start,
        listen: &[SocketAddr],
        memory: SharedMemory,
        control: &Weak<Control>,
    ) -> Self {
        let store = {
            let control = Weak::clone(control);
            move |changes| {
                let control = control.upgrade();
                let store = async move {
                    let stopped = || PoolRefusal::Stopped { reason: "the array is stopping".to_owned() };
                    control.ok_or_else(stopped)?.store_nfs_clients(changes).await
                };
                Box::pin(store) as LocalBoxFuture<'static, _>
            }
        };
        let surroundings = Surroundings {
            memory,
            shortage: Rc::clone(&reactor.shortage),
            environment: Rc::clone(&reactor.environment),
            calls: reactor.calls.clone(),
            measurements: Arc::clone(&reactor.measurements),
            owed: {
                let control = Weak::clone(control);
                Box::new(move |worked| {
                    control.upgrade().map(|control| control.owed_to_hosts(worked)).unwrap_or_default()
                })
            },
            log: {
                let units = Rc::clone(&reactor.units);
                Box::new(move |entry| units.log_refusal(entry))
            },
        };
        let port = listen.first().map_or(0, SocketAddr::port);
        let service = Rc::new(Service::new(start, port, surroundings, Box::new(store)));
        let portals = listen.iter().map(|address| advertised(*address)).collect();
        Self { reactor, service, portals, snapshots: RefCell::default(), unsettled: Cell::default() }
    }

    /// Accepts connections, until it is dropped.
    pub async fn accept(self: Rc<Self>, listener: TcpListener) {
        accept_each(listener, |stream, peer| self.service.connected(stream, peer)).await;
    }

    /// Serves a byte stream as a connection that was accepted.
    #[cfg(feature = "simulation")]
    pub fn connected(&self, socket: impl super::socket::Socket, peer: SocketAddr) {
        self.service.connected(socket, peer);
    }

    /// Statistics of shares and clients.
    pub fn statistics(&self) -> &Statistics {
        &self.service.statistics
    }

    /// Asks all connections to give way to those that wait for memory.
    pub fn give_way(&self) {
        self.service.registry.order(Order::GiveWay);
    }
}

/// Writes the access times of all shares that are only in memory.
async fn write_access_times<M: Media + 'static>(service: &Service<ShareFiles<M>>) {
    let shares: Vec<_> = service.shares().borrow().iter().cloned().collect();
    for share in shares {
        if let Err(error) = file_system::write_access_times(&share.file_system).await {
            tracing::warn!(share = share.name.as_text(), %error, "access times were not written");
        }
    }
}

/// Volumes are not served by NFS.
impl<M: Media + 'static> Adapter for Nfs<M> {
    fn notify(&self, _: VolumeId, _: &Registrant, _: Notice) {}

    fn content_discarded(&self, _: VolumeId) {}

    fn abort(&self, _: VolumeId, _: &[Registrant]) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl<M: Media + 'static> Frontend for Nfs<M> {
    fn load(&self, directory: &Directory) {
        self.publish_all(directory);
    }

    fn publish(&self, change: &Change, directory: &Directory) {
        if self.publish_change(change, directory) {
            self.unsettled.set(true);
        }
    }

    /// None: sessions of NFSv4 belong to no portal and have no commands of SCSI.
    fn sessions(&self) -> Vec<SessionInfo> {
        Vec::new()
    }

    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)> {
        Vec::new()
    }

    fn drop_session(&self, _: u64) -> bool {
        false
    }

    /// None: they are counted in metrics of their own.
    fn connections(&self) -> ConnectionCounters {
        ConnectionCounters::default()
    }

    /// None: NFS has no logins.
    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        Vec::new()
    }

    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>> {
        None
    }

    fn take_refused_logins(&self) -> Option<RefusedLogins> {
        None
    }

    fn commands(&self) -> u64 {
        self.service.calls()
    }

    fn client(&self, _: ClientId) -> Option<Registration> {
        None
    }

    fn background(&self) -> LocalBoxFuture<'static, ()> {
        let service = Rc::clone(&self.service);
        Box::pin(async move {
            let writing = async {
                loop {
                    tokio::time::sleep(ACCESS_TIMES).await;
                    write_access_times(&service).await;
                }
            };
            tokio::join!(service.background(), writing);
        })
    }

    fn settled(&self) -> LocalBoxFuture<'static, ()> {
        if self.unsettled.take() { Box::pin(self.service.calls_ended()) } else { Box::pin(std::future::ready(())) }
    }

    fn shut_down(&self) -> LocalBoxFuture<'static, ()> {
        let service = Rc::clone(&self.service);
        Box::pin(async move {
            service.registry.shut_down(SHUTDOWN).await;
            // They are worth no long wait, and calls that do not end may hold up the pool.
            if tokio::time::timeout(SHUTDOWN, write_access_times(&service)).await.is_err() {
                tracing::warn!("access times were not written: the pool takes too long");
            }
        })
    }
}
