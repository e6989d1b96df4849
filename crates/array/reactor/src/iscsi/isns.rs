//! Registration with iSNS servers (RFC 4171): the array registers when it starts serving and when its
//! portals change, repeats the registration before it expires, and deregisters when it stops. Each
//! registration replaces the one before, so that the server forgets portals that are gone (§5.6.5.1).
//! Each server has its own task. A server that does not answer is retried at growing intervals and
//! delays nothing else.

use bytes::BytesMut;
use control::Portal;
pub(super) use iscsi::isns::Registration;
use iscsi::isns::{IsnsError, Reassembly, Response};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Registration period in requests.
const PERIOD_SECONDS: u32 = 600;
/// Shortest time between two registrations, even if the server returns a shorter period.
const SHORTEST: Duration = Duration::from_secs(5);
/// Longest time between two registrations, even if the server returns a longer period: a server
/// that has lost its database knows the array again after this time.
const LONGEST: Duration = Duration::from_secs(1200);
/// Time limit of a request and its response.
const LIMIT: Duration = Duration::from_secs(10);
/// Time limit of a request while the array stops.
const FAREWELL: Duration = Duration::from_secs(2);
/// First and longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Connection(#[from] std::io::Error),
    #[error("no answer within {} s", LIMIT.as_secs())]
    Timeout,
    #[error("{0}")]
    Protocol(#[from] IsnsError),
    #[error("the server refused it with status {0}")]
    Refused(u32),
    #[error("the server answered another request")]
    Transaction,
}

/// Tasks that keep the array registered.
pub(crate) struct Registrar {
    stop: watch::Sender<bool>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// Builds the registration. It omits portals that advertise a host name, or a loopback address for
/// another listening address.
pub(crate) fn registration(target: &str, portals: &[Portal], identifiers: &[u16]) -> Registration {
    let recorded = portals.iter().zip(identifiers).filter(|(_, identifier)| **identifier != 0);
    let with_address = recorded.filter_map(|(portal, identifier)| {
        let address: SocketAddr = portal.advertised.parse().ok()?;
        let told = !address.ip().is_loopback() || portal.listen.ip().is_loopback();
        told.then_some((address, *identifier))
    });
    Registration { target: target.to_owned(), portals: with_address.collect(), period_seconds: PERIOD_SECONDS }
}

/// Replaces the registration if portals or their identifiers have changed.
pub(crate) fn update(published: &watch::Sender<Registration>, portals: &[Portal], identifiers: &[u16]) {
    published.send_if_modified(|registration| {
        let changed = self::registration(&registration.target, portals, identifiers);
        let is_other = *registration != changed;
        *registration = changed;
        is_other
    });
}

impl Registrar {
    /// Starts a registration task for each server, which follows the changes of `registration`.
    pub fn start(servers: &[SocketAddr], registration: &watch::Sender<Registration>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let keep = |server: &SocketAddr| keep_registered(*server, registration.subscribe(), stopped.clone());
        let tasks = servers.iter().map(|server| tokio::task::spawn_local(keep(server))).collect();
        Self { stop, tasks }
    }

    /// Deregisters from every server that responds within the time limit.
    pub async fn stop(self) {
        let _nobody_listens = self.stop.send(true);
        for task in self.tasks {
            let _ended = task.await;
        }
    }
}

async fn keep_registered(
    server: SocketAddr,
    mut published: watch::Receiver<Registration>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut transaction = 0u16;
    let mut registered = false;
    // True if a registration was sent whose answer, if any, was no refusal.
    let mut may_be_registered = false;
    let mut pause = PAUSES.0;
    loop {
        transaction = transaction.wrapping_add(1);
        let sent = Cell::new(false);
        let request = published.borrow_and_update().register(transaction);
        let asked = ask(server, request, transaction, LIMIT, &sent);
        tokio::pin!(asked);
        let outcome = tokio::select! {
            outcome = &mut asked => outcome,
            _ = stopped.changed() => {
                if sent.get() {
                    // The server has to complete the registration before it is withdrawn.
                    let refused = matches!(tokio::time::timeout(FAREWELL, asked).await, Ok(Err(Failure::Refused(_))));
                    may_be_registered |= !refused;
                }
                break;
            }
        };
        may_be_registered |= sent.get() && !matches!(outcome, Err(Failure::Refused(_)));
        let wait = match outcome {
            Ok(response) => {
                if !registered {
                    tracing::info!(%server, "registered with iSNS");
                }
                registered = true;
                pause = PAUSES.0;
                until_next(response.registration_period_seconds)
            }
            Err(failure) => {
                tracing::warn!(%server, %failure, again_in_seconds = pause.as_secs(), "not registered with iSNS");
                let wait = pause;
                pause = (pause * 2).min(PAUSES.1);
                wait
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            Ok(()) = published.changed() => {}
            _ = stopped.changed() => break,
        }
    }
    if may_be_registered {
        transaction = transaction.wrapping_add(1);
        let deregister = published.borrow().deregister(transaction);
        match ask(server, deregister, transaction, FAREWELL, &Cell::default()).await {
            Ok(_) => tracing::info!(%server, "deregistered from iSNS"),
            Err(failure) => tracing::warn!(%server, %failure, "not deregistered from iSNS; the registration runs out"),
        }
    }
}

/// Time from a registration to the next one, for the registration period that the server returned.
fn until_next(period_seconds: Option<u32>) -> Duration {
    let period = period_seconds.filter(|period| *period > 0).unwrap_or(PERIOD_SECONDS);
    // An interval of a third of the period leaves time to repeat a failed request.
    Duration::from_secs(u64::from(period) / 3).clamp(SHORTEST, LONGEST)
}

/// Sends one request over its own connection and returns the response. Sets `sent` before the
/// server can have received any of the request.
async fn ask(
    server: SocketAddr,
    request: Vec<u8>,
    transaction: u16,
    limit: Duration,
    sent: &Cell<bool>,
) -> Result<Response, Failure> {
    let exchange = async {
        let mut stream = TcpStream::connect(server).await?;
        sent.set(true);
        stream.write_all(&request).await?;
        let mut input = BytesMut::new();
        let mut answer = Reassembly::default();
        loop {
            if stream.read_buf(&mut input).await? == 0 {
                return Err(Failure::Connection(std::io::ErrorKind::UnexpectedEof.into()));
            }
            if let Some(response) = answer.take(&mut input)? {
                return Ok(response);
            }
        }
    };
    let response = tokio::time::timeout(limit, exchange).await.map_err(|_elapsed| Failure::Timeout)??;
    if response.transaction != transaction {
        return Err(Failure::Transaction);
    }
    if response.status == 0 { Ok(response) } else { Err(Failure::Refused(response.status)) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use tokio::net::TcpListener;

    /// Test server that answers one request with the given status and registration period. Returns
    /// the request's function and payload.
    async fn serve(listener: &TcpListener, status: u32, period_seconds: u32) -> (u16, Vec<u8>) {
        let (mut stream, header, payload) = receive(listener).await;
        let function = u16::from_be_bytes([header[2], header[3]]);
        answer(&mut stream, header, status, period_seconds).await;
        (function, payload)
    }

    /// Receives one request: its connection, header and payload.
    async fn receive(listener: &TcpListener) -> (TcpStream, [u8; 12], Vec<u8>) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut header = [0; 12];
        stream.read_exact(&mut header).await.unwrap();
        let mut payload = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]]))];
        stream.read_exact(&mut payload).await.unwrap();
        (stream, header, payload)
    }

    async fn answer(stream: &mut TcpStream, header: [u8; 12], status: u32, period_seconds: u32) {
        let function = u16::from_be_bytes([header[2], header[3]]);
        let mut answer = vec![0, 1];
        answer.extend_from_slice(&(function | 0x8000).to_be_bytes());
        answer.extend_from_slice(&[0, 16, 0x4c, 0, header[8], header[9], 0, 0]);
        answer.extend_from_slice(&status.to_be_bytes());
        answer.extend_from_slice(&[0, 0, 0, 6, 0, 0, 0, 4]);
        answer.extend_from_slice(&period_seconds.to_be_bytes());
        stream.write_all(&answer).await.unwrap();
    }

    fn on_local_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    #[test]
    fn registers_again_and_again_and_takes_it_back() {
        on_local_thread(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let portals = [
                Portal { listen: "192.0.2.1:3260".parse().unwrap(), advertised: "192.0.2.1:3260".into() },
                Portal { listen: "0.0.0.0:3261".parse().unwrap(), advertised: "array.example.org:3261".into() },
                Portal { listen: "0.0.0.0:3262".parse().unwrap(), advertised: "127.0.0.1:3262".into() },
            ];
            let registration = registration("iqn.2026-01.org.example:t", &portals, &[4, 5, 6]);
            assert_eq!(registration.portals, [("192.0.2.1:3260".parse().unwrap(), 4)]);
            let published = watch::Sender::new(registration.clone());
            let registrar = Registrar::start(&[listener.local_addr().unwrap()], &published);
            // The returned period is shorter than the shortest pause, so the pause applies.
            let (function, payload) = serve(&listener, 0, 1).await;
            assert_eq!((function, payload), (1, registration.register(1)[12..].to_vec()));
            let again = std::time::Instant::now();
            assert_eq!(serve(&listener, 0, 3600).await.0, 1);
            assert!(again.elapsed() >= SHORTEST - Duration::from_millis(100));
            let (_, (function, payload)) = tokio::join!(registrar.stop(), serve(&listener, 0, 0));
            assert_eq!((function, payload), (4, registration.deregister(3)[12..].to_vec()));
        });
    }

    /// A portal that was recorded after the start was unknown to the servers until the next start.
    #[test]
    fn a_change_of_portals_is_registered_at_once() {
        on_local_thread(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let portal = |address: &str| Portal { listen: address.parse().unwrap(), advertised: address.into() };
            let portals = [portal("192.0.2.1:3260"), portal("192.0.2.2:3260")];
            let of = |identifiers: &[u16]| registration("iqn.2026-01.org.example:t", &portals, identifiers);
            let published = watch::Sender::new(of(&[1, 0]));
            let registrar = Registrar::start(&[listener.local_addr().unwrap()], &published);
            assert_eq!(serve(&listener, 0, 3600).await.1, of(&[1, 0]).register(1)[12..]);
            let at = std::time::Instant::now();
            for (transaction, identifiers) in (2..).zip([[1, 2], [0, 2]]) {
                update(&published, &portals, &identifiers);
                let (function, payload) = serve(&listener, 0, 3600).await;
                assert_eq!((function, payload), (1, of(&identifiers).register(transaction)[12..].to_vec()));
            }
            assert!(at.elapsed() < SHORTEST, "it did not wait for the end of the period");
            update(&published, &portals, &[0, 2]);
            let (_, (function, _)) = tokio::join!(registrar.stop(), serve(&listener, 0, 0));
            assert_eq!(function, 4, "nothing had changed, so the next request is the deregistration");
        });
    }

    /// A server could keep the array from ever registering again by a period of 136 years.
    #[test]
    fn the_period_of_the_server_has_limits() {
        let seconds = |period| until_next(period).as_secs();
        assert_eq!([None, Some(0), Some(600)].map(seconds), [200; 3]);
        assert_eq!([Some(1), Some(3599), Some(3600), Some(u32::MAX)].map(seconds), [5, 1199, 1200, 1200]);
    }

    /// A stop before the first answer left the registration at the server until it expired.
    #[test]
    fn a_stop_during_the_first_registration_takes_it_back() {
        for status in [0, 3] {
            on_local_thread(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let registration = registration("iqn.2026-01.org.example:t", &[], &[]);
                let published = watch::Sender::new(registration);
                let registrar = Registrar::start(&[listener.local_addr().unwrap()], &published);
                let (mut stream, header, _) = receive(&listener).await;
                let mut stopping = tokio::task::spawn_local(registrar.stop());
                // The task of the registrar runs before that of the test runs again.
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                answer(&mut stream, header, status, 600).await;
                let deregistered = tokio::select! {
                    (function, _) = serve(&listener, 0, 0) => Some(function),
                    _ = &mut stopping => None,
                };
                assert_eq!(deregistered, (status == 0).then_some(4));
                if deregistered.is_some() {
                    stopping.await.unwrap();
                }
            });
        }
    }

    #[test]
    fn what_goes_wrong_is_told_apart() {
        on_local_thread(async {
            let sent = Cell::new(false);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let server = listener.local_addr().unwrap();
            let registration = registration("iqn.2026-01.org.example:t", &[], &[]);
            let asked = ask(server, registration.register(7), 7, LIMIT, &sent);
            let (refused, _) = tokio::join!(asked, serve(&listener, 3, 0));
            assert!(matches!(refused, Err(Failure::Refused(3))));
            let asked = ask(server, registration.register(7), 8, LIMIT, &sent);
            let (other, _) = tokio::join!(asked, serve(&listener, 0, 0));
            assert!(matches!(other, Err(Failure::Transaction)));
            // The listener never accepts: the backlog completes the connection, and no response
            // follows.
            let silent = ask(server, registration.register(7), 7, Duration::from_millis(50), &sent).await;
            assert!(matches!(silent, Err(Failure::Timeout)));
            drop(listener);
            let closed = ask(server, registration.register(7), 7, LIMIT, &sent).await;
            assert!(matches!(closed, Err(Failure::Connection(_))));
            // A server that was never reached gets no deregistration.
            Registrar::start(&[server], &watch::Sender::new(registration)).stop().await;
        });
    }
}
