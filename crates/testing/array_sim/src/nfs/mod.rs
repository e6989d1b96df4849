//! A simulated host of NFS: over one session of NFSv4.2, several calls at a time, it changes and reads the files of the
//! share and the names of its own files. It cuts its connection, on which its client sends again what was not answered,
//! and begins anew when the array has lost its session. It expects an answer to everything in bounded time.

mod content;
mod names;
mod stream;

use crate::host::{BOUND, Connector};
use crate::machine::SHARE;
use crate::shared::Shared;
use crate::world::{FILES, WINDOW};
use content::Unstable;
use futures_util::future::join_all;
use names::Names;
use nfs::v4::Status;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs_client::{ClientError, File, Identity, Options, Server, Session, Share, Stream};
use random::Random;
use std::cell::{Cell, RefCell};
use std::io::{Error, ErrorKind};
use std::rc::Rc;
use std::time::Duration;
use stream::Wire;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, timeout};

/// Bytes of a block of the model.
const BLOCK_BYTES: u64 = crate::commands::BLOCK_BYTES as u64;
/// Most calls in flight.
const MOST_CALLS: usize = 8;

/// A host of NFS.
pub(crate) struct Host {
    shared: Rc<Shared>,
    index: usize,
    random: Rc<Random>,
    server: Server,
    wire: Rc<RefCell<Option<Wire>>>,
    left: Cell<u64>,
    next_id: Cell<u64>,
    unstable: RefCell<Vec<Unstable>>,
    names: RefCell<Names>,
}

/// The share with its files, over a session.
struct Opened {
    share: Share,
    files: Vec<File>,
    /// Run of the array that has the session.
    incarnation: u64,
    /// The session is lost.
    lost: Cell<bool>,
}

/// Reason why a call failed.
enum Failed {
    /// The array was killed.
    Lost,
    /// The disk of the array has a fault.
    Troubled,
}

impl Host {
    pub(crate) fn new(shared: Rc<Shared>, index: usize, connect: Connector) -> Self {
        let random = Rc::new(Random::new(shared.world.seed ^ ((index as u64 + 1) << 40) ^ 0x6e66_7334));
        let wire: Rc<RefCell<Option<Wire>>> = Rc::default();
        let server = {
            let (random, wire) = (Rc::clone(&random), Rc::clone(&wire));
            Server::by("the array", move || {
                let connected = connect(index, &random).map(|end| {
                    let new = Wire::new(end);
                    wire.replace(Some(new.clone()));
                    Stream::new(new.clone(), new)
                });
                Box::pin(std::future::ready(connected.ok_or_else(|| Error::from(ErrorKind::ConnectionRefused))))
            })
        };
        let left = Cell::new(shared.world.nfs_calls);
        let (next_id, unstable) = (Cell::new(1), RefCell::default());
        Self { shared, index, random, server, wire, left, next_id, unstable, names: RefCell::default() }
    }

    fn log(&self, line: std::fmt::Arguments<'_>) {
        self.shared.log(format_args!("host {} of NFS: {line}", self.index));
    }

    fn within(&self, milliseconds: u64) -> Duration {
        Duration::from_millis(self.random.below(milliseconds) + 1)
    }

    /// Runs until all its calls are done.
    pub(crate) async fn run(self) -> Result<(), String> {
        LocalSet::new().run_until(self.work()).await
    }

    /// Reads all files in one session.
    pub(crate) async fn verify(self) -> Result<(), String> {
        let verifying = async {
            loop {
                let opened = self.log_in().await?;
                for file in 0..FILES {
                    self.read(&opened, file, 0..WINDOW as usize).await?;
                }
                if !opened.lost.get() {
                    return self.log_out(opened).await;
                }
            }
        };
        LocalSet::new().run_until(verifying).await
    }

    async fn work(&self) -> Result<(), String> {
        loop {
            let opened = self.log_in().await?;
            self.unstable.borrow_mut().clear();
            self.check_names(&opened).await?;
            let depth = self.shared.world.depth.min(MOST_CALLS);
            let workers = (0..depth).map(|number| self.call_in_turn(&opened, number == 0));
            join_all(workers).await.into_iter().collect::<Result<(), String>>()?;
            if opened.lost.get() {
                continue;
            }
            return self.log_out(opened).await;
        }
    }

    /// Makes calls, one after the other, until none is left or the session is lost. `names`: also those about names.
    async fn call_in_turn(&self, opened: &Opened, names: bool) -> Result<(), String> {
        while self.left.get() > 0 && !opened.lost.get() {
            self.left.set(self.left.get() - 1);
            if self.random.chance(2) {
                self.log(format_args!("cuts its connection"));
                self.wire.borrow().iter().for_each(Wire::cut);
            }
            if names && self.random.chance(30) {
                self.change_name(opened).await?;
            } else {
                self.use_content(opened).await?;
            }
            if self.shared.world.pause_ms > 0 {
                sleep(self.within(self.shared.world.pause_ms)).await;
            }
        }
        Ok(())
    }

    async fn log_in(&self) -> Result<Opened, String> {
        let mut begun = Instant::now();
        loop {
            // Recovery is no hang.
            begun = begun.max(self.shared.up_since.get());
            if self.shared.troubled.get() {
                // An engine that has stopped gives no session before it is killed and started again.
                begun = Instant::now();
            }
            if begun.elapsed() > BOUND {
                return Err(format!("host {} of NFS: no session for {} s", self.index, BOUND.as_secs()));
            }
            let incarnation = self.shared.incarnation.get();
            match timeout(BOUND, self.try_log_in(incarnation)).await {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(error)) if self.is_passing(&error) => {}
                Ok(Err(error)) => return Err(format!("host {} of NFS: no session: {error}", self.index)),
                Err(_) => continue,
            }
            sleep(self.within(500)).await;
        }
    }

    /// True if the array may refuse a login with this error.
    fn is_passing(&self, error: &ClientError) -> bool {
        match error {
            ClientError::Status { .. } => self.shared.troubled.get(),
            ClientError::Malformed(_) | ClientError::Rpc(_) => false,
            _ => true,
        }
    }

    async fn try_log_in(&self, incarnation: u64) -> Result<Opened, ClientError> {
        let identity = Identity::root(format!("host-{}", self.index), [1; 8]);
        let slots = u32::try_from(self.shared.world.depth.min(MOST_CALLS)).unwrap_or(1);
        let options = Options { minor: 2, slots, timeout: BOUND, patience: 2 * BOUND };
        let session = Session::connect_to(&self.server, &identity, options).await?;
        let share = Share::find(&session, SHARE).await?;
        let mut files = Vec::new();
        for number in 0..FILES {
            let name = format!("file-{number}");
            let file = loop {
                match share.create_file(share.root(), &name).await {
                    Err(ClientError::Status { status: Status::GRACE, .. }) => sleep(self.within(500)).await,
                    opened => break opened?,
                }
            };
            // It has this size already, or it is new.
            let size = Fattr::new([Attribute::Size(WINDOW * BLOCK_BYTES)]);
            share.set_attributes(&file.handle, file.stateid, size).await?;
            files.push(file);
        }
        self.shared.count(|report| report.logins += 1);
        self.log(format_args!("has a session"));
        Ok(Opened { share, files, incarnation, lost: Cell::new(false) })
    }

    async fn log_out(&self, opened: Opened) -> Result<(), String> {
        let Opened { share, files, .. } = opened;
        let ending = async {
            for file in files {
                share.close(file).await?;
            }
            share.session().clone().end().await
        };
        match timeout(BOUND, ending).await {
            Ok(Err(error)) if !self.is_passing(&error) => {
                Err(format!("host {} of NFS: its session does not end: {error}", self.index))
            }
            Err(_) if !self.shared.troubled.get() => {
                Err(format!("host {} of NFS: its session does not end for {} s", self.index, BOUND.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the outcome of a call; judges failures other than those that are `expected`.
    async fn answer<T>(
        &self,
        opened: &Opened,
        what: &str,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<Result<T, Failed>, String> {
        self.log(format_args!("{what}"));
        self.shared.count(|report| report.file_operations += 1);
        let error = match timeout(BOUND, call).await {
            Ok(Ok(answer)) => {
                self.log(format_args!("{what}: done"));
                return Ok(Ok(answer));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer for {} s", BOUND.as_secs()),
        };
        self.log(format_args!("{what}: {error}"));
        self.shared.count(|report| report.unanswered += 1);
        if self.shared.incarnation.get() > opened.incarnation {
            opened.lost.set(true);
            return Ok(Err(Failed::Lost));
        }
        self.shared.count(|report| report.failed += 1);
        if self.shared.troubled.get() {
            return Ok(Err(Failed::Troubled));
        }
        Err(format!("host {} of NFS: {what}: {error}, without a fault", self.index))
    }
}
