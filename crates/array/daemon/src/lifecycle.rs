//! Life cycle of the process: start the reactor, open the listeners, print `ready`, wait for a
//! signal, stop cleanly.

use crate::audit::Audit;
use crate::doctor::Places;
use crate::http::{Listener, Listeners, Surroundings};
use crate::people::Gate;
use crate::recording::Recording;
use crate::state_dir::{StateDir, clear_socket, warn_of_access};
use crate::tls::Names;
use crate::{AuditFailure, Configuration, ServeOptions, TlsMode};
use anyhow::{Context, anyhow};
use control::{ArrayOptions, HttpsFault, PortalOptions};
use jiff::Timestamp;
use reactor::pool_record::sign_of_a_pool;
use reactor::{ArrayHandle, ReactorChannels, ReactorConfiguration, ReactorStarter, Ready, ServeError};
use rustix::fs::Mode;
use rustls::ServerConfig;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Time between two records of the last uses of tokens and sign-ins.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);

/// Longest wait for the end of notification when the array stops.
const NOTICES_END: Duration = Duration::from_secs(10);

/// Longest wait for the end of a run of the laboratory when the array stops. The next start removes the rest.
const LABORATORY_END: Duration = Duration::from_secs(15);

/// Runs an array until SIGTERM, SIGINT or SIGHUP. A second signal stops it at once.
///
/// Prints one line to standard output once the portals and the administrative socket accept
/// connections:
/// `ready iscsi=ADDRESS:PORT[,…] target=IQN api=unix:PATH [nfs=ADDRESS:PORT[,…]] [http=https://ADDRESS:PORT]`.
pub fn serve(options: ServeOptions, starter: impl ReactorStarter) -> Result<(), ServeError> {
    let configuration = Configuration::load(&options)?;
    let _log = crate::logging::start(&configuration.log.filter, configuration.log.format)?;
    abort_on_panic();
    // Everything created from here on belongs to the owner alone: the pool, the socket, the token.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let state_dir = StateDir::open(&configuration.state_dir)?;
    clear_socket(&configuration.management.socket)?;
    let pool = &configuration.pool;
    let pool_sign = sign_of_a_pool(state_dir.path(), state_dir.served_without_record(), &pool.name, &pool.path);
    warn_of_private_files(&configuration);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
    let result = runtime.block_on(supervise(&configuration, &state_dir, pool_sign, starter));
    match &result {
        Ok(()) => tracing::info!("stopped"),
        Err(error) => tracing::error!(%error, "stopped"),
    }
    result
}

/// Warns of private files that other users can read.
fn warn_of_private_files(configuration: &Configuration) {
    places(configuration).private.iter().for_each(|path| warn_of_access(path));
}

/// Places of the array. Private are the pool, tokens and the key.
fn places(configuration: &Configuration) -> Places {
    let state_dir = &configuration.state_dir;
    let (certificate, key) = match &configuration.tls {
        TlsMode::SelfSigned { .. } => {
            (state_dir.join(crate::tls::CERTIFICATE_PATH), state_dir.join(crate::tls::KEY_PATH))
        }
        TlsMode::Files { certificate, key } => (certificate.clone(), key.clone()),
    };
    let people = crate::people::FILES.into_iter().chain([crate::recording::FILE_NAME]).map(|name| state_dir.join(name));
    Places {
        state_directory: state_dir.clone(),
        pool: configuration.pool.path.clone(),
        certificate: configuration.http.map(|_address| certificate),
        private: std::iter::once(configuration.pool.path.clone()).chain(people).chain([key]).collect(),
    }
}

/// Formats the `ready` line.
fn ready_line(ready: &Ready, socket: &Path, http: Option<SocketAddr>) -> String {
    let portals: Vec<String> = ready.portals.iter().map(|portal| portal.listen.to_string()).collect();
    let nfs: Vec<String> = ready.nfs.iter().map(SocketAddr::to_string).collect();
    let nfs = if nfs.is_empty() { String::new() } else { format!(" nfs={}", nfs.join(",")) };
    let http = http.map(|address| format!(" http=https://{address}")).unwrap_or_default();
    format!("ready iscsi={} target={} api=unix:{}{nfs}{http}", portals.join(","), ready.target, socket.display())
}

async fn supervise(
    configuration: &Configuration,
    state_dir: &StateDir,
    pool_sign: Option<String>,
    starter: impl ReactorStarter,
) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    // Listeners are bound before the reactor starts, so that a port in use is reported at once;
    // clients wait in the backlog until it serves.
    let _socket = SocketFile(&configuration.management.socket);
    let goes_on_without_audit = configuration.management.audit_failure == AuditFailure::Continue;
    let (recording, reports) = Recording::start(state_dir.path(), configuration.management.history_limit_bytes);
    let surroundings =
        Surroundings::of(state_dir.path(), goes_on_without_audit).with_history(recording).at(places(configuration));
    let (listeners, https_fault) = bind(configuration, state_dir, &surroundings.gate).await?;
    let http = listeners.http_address();
    // The certificate that is served is that of the start, whatever happens to its file.
    let certificate = places(configuration).certificate.filter(|_| https_fault.is_none());
    let certificate_ends = certificate.and_then(|path| crate::certificates::end_of_chain(&path));
    let (array, requests) = ArrayHandle::channel();
    let (ready_sender, ready_receiver) = oneshot::channel();
    let (shutdown, shutdown_receiver) = oneshot::channel();
    let channels = ReactorChannels { requests, ready: ready_sender, shutdown: shutdown_receiver };
    let reactor_configuration = reactor_configuration(configuration, state_dir, pool_sign, https_fault);
    let mut reactor = Reactor::start(reactor_configuration, starter, channels)?;
    tracing::info!(state_dir = %configuration.state_dir.display(), pool = %configuration.pool.path.display(), "starting");

    let ready = tokio::select! {
        ready = ready_receiver => match ready {
            Ok(ready) => ready,
            Err(_dropped) => {
                return reactor.ended().await.and_then(|()| Err(anyhow!("the reactor ended before it served").into()));
            }
        },
        () = signals.next() => {
            tracing::info!("told to stop while starting");
            let _reactor_gone = shutdown.send(());
            return stop(&mut reactor, &mut signals).await;
        }
    };
    let recording = surroundings.recording.clone();
    let (stop_recording, recording_stops) = oneshot::channel();
    let recorded = tokio::spawn(crate::recording::feed(recording, array.clone(), reports, recording_stops));
    let running = listeners.run(&array, &surroundings);
    let status = ready_line(&ready, &configuration.management.socket, http);
    tracing::info!("{status}");
    print_line(&status);
    crate::notify::ready(&status);
    let background = background(&surroundings, &array, state_dir.path(), certificate_ends);
    let tidying = tokio::spawn(tidy(Arc::clone(&surroundings.gate), surroundings.audit.clone(), array.clone()));
    let (stop_notices, notices_stopped) = oneshot::channel::<()>();
    let notices_end = async { drop(notices_stopped.await) };
    let notices = tokio::spawn(crate::notices::run(Arc::clone(&surroundings.desk), array.clone(), notices_end));
    let mut outcome = Ok(());
    tokio::select! {
        () = signals.next() => tracing::info!("told to stop"),
        ended = reactor.ended() => outcome = ended.and_then(|()| Err(anyhow!("the reactor ended by itself").into())),
    }
    crate::notify::stopping();
    drop(background);
    running.stop().await;
    let _late = tokio::time::timeout(LABORATORY_END, surroundings.laboratory.stop()).await;
    let _ended_already = stop_recording.send(());
    let _ended = recorded.await;
    tidying.abort();
    let _ended_already = stop_notices.send(());
    let _late = tokio::time::timeout(NOTICES_END, notices).await;
    surroundings.gate.tidy().await;
    let _reactor_gone = shutdown.send(());
    drop(array);
    let stopped = stop(&mut reactor, &mut signals).await;
    // If both failed, the reactor's error is the cause.
    stopped.and(outcome)
}

/// Starts what runs beside the array; it ends when the set is dropped.
fn background(
    surroundings: &Surroundings,
    array: &ArrayHandle,
    state_dir: &Path,
    certificate_ends: Option<Timestamp>,
) -> JoinSet<()> {
    let Surroundings { desk, audit, bundles, laboratory, .. } = surroundings;
    let mut tasks = JoinSet::new();
    tasks.spawn(crate::notify::feed_watchdog(array.clone()));
    tasks.spawn(array.clone().follow());
    tasks.spawn(crate::certificates::follow(certificate_ends, Arc::clone(desk), array.clone()));
    tasks.spawn(crate::http::keep_days(surroundings.clone(), array.clone()));
    tasks.spawn(bundles.clone().keep_tidy());
    tasks.spawn(crate::notices::Forward::new(Arc::clone(desk), audit.clone(), array.clone(), state_dir).run());
    tasks.spawn(Arc::clone(laboratory).recover(array.clone()));
    tasks
}

/// Stores the last uses of tokens and sign-ins once a minute, reports refused sign-ins that were not reported,
/// and ends the alert about them.
async fn tidy(gate: Arc<Gate>, audit: Audit, array: ArrayHandle) {
    let mut ticks = tokio::time::interval(TIDY_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        gate.tidy().await;
        crate::http::report_refused(&gate, &audit, &array).await;
    }
}

/// File of the administrative socket, removed whenever the array stops.
struct SocketFile<'a>(&'a Path);

impl Drop for SocketFile<'_> {
    fn drop(&mut self) {
        let _never_bound = std::fs::remove_file(self.0);
    }
}

/// Binds the administrative socket and, as configured, the HTTPS and metrics listeners. Also returns
/// the reason if HTTPS is configured and not served.
async fn bind(
    configuration: &Configuration,
    state_dir: &StateDir,
    gate: &Gate,
) -> Result<(Listeners, Option<HttpsFault>), ServeError> {
    let (mut listeners, mut fault) = (Listeners::default(), None);
    let management = &configuration.management;
    let group = crate::state_dir::group_id(&management.socket_group);
    listeners.add(Listener::unix(&management.socket, group)?);
    if let Some(address) = configuration.http {
        match https_parts(configuration, state_dir, address, gate).await {
            Ok((tls, names)) => listeners.add(Listener::https(address, tls, names).await?),
            // A damaged file of the management plane must not take the hosts' storage away.
            Err(error) => {
                let help = match &configuration.tls {
                    TlsMode::SelfSigned { .. } => {
                        "repair or delete the file (key and certificate are generated anew), and restart"
                    }
                    TlsMode::Files { .. } => "correct the file or [tls] cert and key, and restart",
                };
                let reason = format!("{error:#}");
                tracing::error!(%address, error = reason, help, "REST over TLS is not served; hosts and the administrative socket are");
                fault = Some(HttpsFault { address, reason, help });
            }
        }
    }
    if let Some(address) = configuration.metrics {
        listeners.add(Listener::metrics(address).await?);
    }
    Ok((listeners, fault))
}

/// Certificate of the HTTPS listener, and the names of the array as far as they are known; prepares the
/// first credentials.
async fn https_parts(
    configuration: &Configuration,
    state_dir: &StateDir,
    address: SocketAddr,
    gate: &Gate,
) -> anyhow::Result<(Arc<ServerConfig>, Option<Vec<String>>)> {
    let configured = match &configuration.tls {
        TlsMode::SelfSigned { names } => names.as_slice(),
        TlsMode::Files { .. } => &[],
    };
    let names = Names::of(address.ip(), configured);
    let tls = crate::tls::server_config(&configuration.tls, state_dir.path(), &names)?;
    gate.prepare_https().await?;
    let names = match &configuration.tls {
        TlsMode::SelfSigned { .. } => Some(names.all().to_vec()),
        // Browsers verify the names of a certificate of the administrator's.
        TlsMode::Files { .. } => None,
    };
    Ok((tls, names))
}

/// Returns the portals, with their target port groups if configured.
fn portal_options(configuration: &Configuration) -> Vec<PortalOptions> {
    let group = |at: usize| configuration.port_groups.get(at).copied();
    let portals = configuration.iscsi.iter().enumerate();
    portals.map(|(at, listen)| PortalOptions { listen: *listen, group: group(at) }).collect()
}

/// Configuration of the reactor.
fn reactor_configuration(
    configuration: &Configuration,
    state_dir: &StateDir,
    pool_sign: Option<String>,
    https_fault: Option<HttpsFault>,
) -> ReactorConfiguration {
    ReactorConfiguration {
        state_dir: state_dir.path().to_owned(),
        pool_path: configuration.pool.path.clone(),
        pool_backend: configuration.pool.backend,
        pool_size_bytes: configuration.pool.size_bytes,
        pool_size_is_given: configuration.pool.size_is_given,
        pool_sign,
        new_pool: configuration.pool.new,
        adopt_pool: configuration.pool.adopt,
        pool_discard: configuration.pool.discard,
        memory_bytes: configuration.memory_bytes,
        threads: usize::from(configuration.threads),
        placement: configuration.placement,
        portals: configuration.iscsi.clone(),
        advertise: configuration.advertise.clone(),
        explicit_asymmetric_access: configuration.explicit_asymmetric_access,
        abort_of_finished_task: configuration.abort_of_finished_task,
        isns: configuration.isns.clone(),
        nfs: configuration.nfs.clone(),
        array: ArrayOptions {
            pool_name: configuration.pool.name.clone(),
            iqn_base: configuration.iqn_base.clone(),
            target_name: configuration.target_name.clone(),
            limits: configuration.pool.limits,
            background_share_percent: configuration.background_share_percent,
            portals: portal_options(configuration),
            https_fault,
        },
    }
}

/// Waits for the reactor, unless a signal ends the wait.
async fn stop(reactor: &mut Reactor, signals: &mut Signals) -> Result<(), ServeError> {
    tokio::select! {
        ended = reactor.ended() => ended,
        () = signals.next() => Err(ServeError::Forced),
    }
}

/// Thread of the reactor.
struct Reactor {
    ended: oneshot::Receiver<Result<(), ServeError>>,
    told: bool,
}

impl Reactor {
    fn start(
        configuration: ReactorConfiguration,
        starter: impl ReactorStarter,
        channels: ReactorChannels,
    ) -> Result<Self, ServeError> {
        let (sender, ended) = oneshot::channel();
        let body = move || {
            let _nobody_waits = sender.send(starter.run(configuration, channels));
        };
        std::thread::Builder::new()
            .name("reactor".to_owned())
            .spawn(body)
            .context("cannot start the reactor's thread")?;
        Ok(Self { ended, told: false })
    }

    /// Completes when the thread has ended. Its result is returned once; afterwards success.
    async fn ended(&mut self) -> Result<(), ServeError> {
        if self.told {
            return Ok(());
        }
        let result = (&mut self.ended).await;
        self.told = true;
        result.unwrap_or_else(|_dropped| Err(anyhow!("the reactor's thread ended without a result").into()))
    }
}

/// Signals that stop the array.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// Writes a line to standard output.
fn print_line(line: &str) {
    let mut output = std::io::stdout().lock();
    if let Err(error) = writeln!(output, "{line}").and_then(|()| output.flush()) {
        tracing::warn!(%error, "standard output is closed");
    }
}

/// Ends the process with the first panic, after it is logged. A task that unwinds leaves partial
/// state: a nexus that is never taken down, tasks that others wait for. A process that ends leaves
/// the state of a power cut, which the next start can repair and which hosts can wait for. The thread of the history
/// is an exception: it catches panics, shares no state, and a damaged history must not stop the array.
fn abort_on_panic() {
    // Not the present hook: it writes to standard error, which may take no data.
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some(crate::recording::THREAD) {
            tracing::error!(%panic, "the history cannot be used");
            return;
        }
        let trace = Backtrace::capture();
        let trace = (trace.status() == BacktraceStatus::Captured).then(|| trace.to_string());
        crate::logging::last_words(|| {
            tracing::error!(%panic, trace, "internal error: the array aborts and must be restarted");
        });
        std::process::abort();
    }));
}
