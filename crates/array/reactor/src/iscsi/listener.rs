//! iSCSI portals: listening sockets and the connections that they accept.

use super::super::clock;
use super::super::listener::{accept_each, bind};
use super::super::socket::Socket;
use super::super::wire::Wire;
use super::Iscsi;
use super::connection::{ConnectionTask, Served, new_core};
use super::local::LocalNexusSide;
use super::registry::{MAX_CONNECTIONS_WITHOUT_SESSION, Member};
use super::remote::represent;
use crate::configuration::ReactorConfiguration;
use crate::{ServeError, advertised};
use ::control::Portal;
use bytes::BytesMut;
use media::Media;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpListener;

pub(crate) fn listen(configuration: &ReactorConfiguration) -> Result<(Vec<TcpListener>, Vec<Portal>), ServeError> {
    let mut listeners = Vec::new();
    let mut portals = Vec::new();
    for (index, address) in configuration.portals.iter().enumerate() {
        let listener = bind(*address).map_err(|e| ServeError::bind(*address, e))?;
        let listen = listener.local_addr().map_err(|e| ServeError::bind(*address, e))?;
        let advertised = configuration.advertise.get(index).cloned().unwrap_or_else(|| advertised(listen));
        listeners.push(listener);
        portals.push(Portal { listen, advertised });
    }
    Ok((listeners, portals))
}

/// Accepts connections to a portal, until it is dropped.
pub(crate) async fn accept<M: Media + 'static>(iscsi: Rc<Iscsi<M>>, listener: TcpListener, portal: usize) {
    accept_each(listener, |stream, peer| iscsi.connected(stream, peer, portal)).await
}

impl<M: Media + 'static> Iscsi<M> {
    /// Serves a new connection in its own task. If too many connections have no session, one of
    /// them is closed first.
    pub(crate) fn connected(self: &Rc<Self>, socket: impl Socket, peer: SocketAddr, portal: usize) {
        if let Some(address) = self.registry.make_room(MAX_CONNECTIONS_WITHOUT_SESSION)
            && let Some(closed) = self.registry.closed.displaced.count(clock::now())
        {
            tracing::warn!(%address, closed, "{MAX_CONNECTIONS_WITHOUT_SESSION} connections have no session: each new one closes the oldest");
        }
        let member = self.join(&socket, peer, portal);
        tokio::task::spawn_local(serve(self.clone(), socket, member, portal));
    }

    /// Registers a new connection.
    fn join(&self, socket: &impl Socket, peer: SocketAddr, portal: usize) -> Rc<Member> {
        let listen = self.portals.get(portal).map_or(peer, |p| p.listen);
        let local = socket.local_address();
        let portal_address = local.map_or(listen, |local| SocketAddr::new(local.ip().to_canonical(), local.port()));
        self.registry.join(portal_address, SocketAddr::new(peer.ip().to_canonical(), peer.port()))
    }
}

/// Serves a connection until it has ended and its last command is done.
async fn serve<M: Media + 'static>(iscsi: Rc<Iscsi<M>>, socket: impl Socket, member: Rc<Member>, portal: usize) {
    let mut seed = [0; 32];
    iscsi.reactor.environment.fill_random(&mut seed);
    let nexus = LocalNexusSide::new(&iscsi, &member, &socket, portal);
    let core = new_core(iscsi.missing_task_response, seed);
    let wire = Wire::new(socket, BytesMut::new(), &iscsi.memory.received);
    let connection = ConnectionTask::new(wire, core, nexus, member.peer, &iscsi.memory, &member.wake);
    match connection.serve().await {
        Served::Ended(nexus) => nexus.into_side().end().await,
        Served::Moves { socket, received, core, nexus, executor } => {
            let (side, directory) = nexus.into_parts();
            represent(side, directory, (socket, received, core), executor).await;
        }
    }
}
