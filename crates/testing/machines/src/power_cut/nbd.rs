//! NBD server on a Unix socket for one QEMU at a time, which serves a [`VolatileDisk`].
//!
//! Of the protocol (the NetworkBlockDevice project's `doc/proto.md`) it implements the fixed
//! newstyle handshake with NBD_OPT_EXPORT_NAME, NBD_OPT_GO, NBD_OPT_INFO and NBD_OPT_ABORT, one
//! export with any name, and READ, WRITE, FLUSH, TRIM and DISC with force unit access and simple
//! replies. Other options are refused as the protocol requires.
//!
//! As in a real disk, queued writes complete in any order, and a flush covers only completed ones.
//! Before the power is cut the disk can be stopped at a point where it has writes to lose.

mod wire;

use super::volatile_disk::VolatileDisk;
use anyhow::{Context, Result, anyhow, bail};
use random::Random;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wire::{Command, Request};

/// Most requests read ahead.
const QUEUE: usize = 16;
/// Most writes that have not completed.
const MAX_PENDING: usize = 16;
/// Longest time for which a write waits for others to overtake it.
const PATIENCE: Duration = Duration::from_micros(300);
/// Upper limit of the random number of writes to lose with which a disk stops.
const MAX_UNSAFE: u64 = 6;
/// `errno` values of replies, which the protocol defines.
const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// Running server. Dropping it ends it.
pub(super) struct Server {
    path: PathBuf,
    disk: Arc<Mutex<VolatileDisk>>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// Whether a connection is being served.
    serving: AtomicBool,
    /// Number of writes to lose at which the disk stops; 0 for never.
    stop_at: AtomicUsize,
    /// Whether the disk has stopped.
    stopped: AtomicBool,
    /// First failure, as text.
    trouble: Mutex<Option<String>>,
}

impl Server {
    /// Serves `disk` on a new socket at `path`.
    pub(super) fn start(path: &Path, disk: VolatileDisk) -> Result<Self> {
        let listener =
            UnixListener::bind(path).with_context(|| format!("cannot make the socket {}", path.display()))?;
        let disk = Arc::new(Mutex::new(disk));
        let state = Arc::new(State::default());
        let thread = {
            let (disk, state) = (Arc::clone(&disk), Arc::clone(&state));
            thread::spawn(move || accept(&listener, &disk, &state))
        };
        Ok(Self { path: path.to_path_buf(), disk, state, thread: Some(thread) })
    }

    /// Served disk.
    pub(super) fn disk(&self) -> MutexGuard<'_, VolatileDisk> {
        lock(&self.disk)
    }

    /// Stops the disk as soon as some received writes are not durable, or after `limit`: from then
    /// on it neither takes requests nor replies. A power cut has to follow.
    pub(super) fn stop(&self, limit: Duration) {
        let writes = self.disk().seed() % MAX_UNSAFE + 1;
        self.state.stop_at.store(usize::try_from(writes).unwrap_or(1), Ordering::Release);
        let started = Instant::now();
        while !self.state.stopped.load(Ordering::Acquire) && started.elapsed() < limit {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Cuts the power after QEMU was killed: waits until all data that QEMU had sent is received,
    /// then lets the disk lose writes.
    pub(super) fn cut(&self, limit: Duration) -> Result<()> {
        let started = Instant::now();
        while self.state.serving.load(Ordering::Acquire) {
            if started.elapsed() > limit {
                bail!("the connection of the disk did not end within {} s", limit.as_secs());
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.state.stop_at.store(0, Ordering::Release);
        self.state.stopped.store(false, Ordering::Release);
        let trouble = self.state.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        match trouble {
            Some(words) => Err(anyhow!("the disk's server: {words}")),
            None => Ok(self.disk().cut()?),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Release);
        // Wakes the listener, so that its thread ends before the process.
        if UnixStream::connect(&self.path).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // A panic of the server was printed on standard error.
            let _ = thread.join();
        }
    }
}

fn lock(disk: &Mutex<VolatileDisk>) -> MutexGuard<'_, VolatileDisk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves connections, one after the other.
fn accept(listener: &UnixListener, disk: &Mutex<VolatileDisk>, state: &State) {
    for stream in listener.incoming() {
        if state.stop.load(Ordering::Acquire) {
            return;
        }
        state.serving.store(true, Ordering::Release);
        let result = stream.and_then(|stream| serve(&stream, disk, state));
        if let Err(error) = result
            && !broken_off(&error)
        {
            let words = error.to_string();
            state.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(words);
        }
        state.serving.store(false, Ordering::Release);
    }
}

/// Whether a connection ended as it does when QEMU is killed.
fn broken_off(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Serves one connection to its end.
fn serve(stream: &UnixStream, disk: &Mutex<VolatileDisk>, state: &State) -> io::Result<()> {
    let (size_bytes, seed) = {
        let mut disk = lock(disk);
        (disk.size_bytes(), disk.seed())
    };
    if !wire::handshake(stream, size_bytes)? {
        return Ok(());
    }
    let mut reader = stream.try_clone()?;
    let (sender, requests) = mpsc::sync_channel(QUEUE);
    let reading = thread::spawn(move || read_requests(&mut reader, &sender));
    let mut worker = Worker { stream, disk, state, random: Random::new(seed), pending: Vec::new() };
    let worked = worker.run(&requests);
    // Requests that had not completed were nevertheless sent to the disk.
    let left = worker.abandon();
    // Ends the reader if the writer failed.
    drop(requests);
    let _ = stream.shutdown(Shutdown::Both);
    let read = reading.join().unwrap_or_else(|_| Err(io::Error::other("reading requests panicked")));
    worked.and(left).and(read)
}

/// Reads requests until the connection or the receiver ends.
fn read_requests(stream: &mut UnixStream, sender: &SyncSender<Request>) -> io::Result<()> {
    loop {
        let request = Request::read(stream)?;
        let last = matches!(request.command, Command::Disconnect);
        if sender.send(request).is_err() || last {
            return Ok(());
        }
    }
}

/// Executes the requests of one connection.
struct Worker<'a> {
    stream: &'a UnixStream,
    disk: &'a Mutex<VolatileDisk>,
    state: &'a State,
    random: Random,
    /// Writes and discards that have not completed.
    pending: Vec<Request>,
}

impl Worker<'_> {
    fn run(&mut self, requests: &Receiver<Request>) -> io::Result<()> {
        loop {
            if self.stops() {
                self.state.stopped.store(true, Ordering::Release);
                // Until QEMU is gone; requests that it sends meanwhile do not reach the disk.
                while requests.recv().is_ok() {}
                return Ok(());
            }
            let patience = if self.random.below(4) == 0 { PATIENCE } else { Duration::ZERO };
            let next = match self.pending.len() {
                0 => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
                MAX_PENDING.. => Err(RecvTimeoutError::Timeout),
                _ => requests.recv_timeout(patience),
            };
            match next {
                // The disk stops before this request.
                Ok(_) if self.stops() => {}
                Ok(request) => match request.command {
                    Command::Disconnect => return Ok(()),
                    Command::Write { durable: false, .. } | Command::Discard { durable: false, .. } => {
                        self.pending.push(request);
                    }
                    _ => self.execute(request)?,
                },
                Err(RecvTimeoutError::Timeout) => {
                    let chosen = self.random.index(self.pending.len());
                    let request = self.pending.swap_remove(chosen);
                    self.execute(request)?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Whether the disk has to stop and has enough writes to lose.
    fn stops(&self) -> bool {
        match self.state.stop_at.load(Ordering::Acquire) {
            0 => false,
            writes => self.pending.len() + lock(self.disk).unsafe_writes() >= writes,
        }
    }

    /// Moves requests that had not completed to the cache, where a cut may lose them.
    fn abandon(&mut self) -> io::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        self.random.shuffle(&mut pending);
        pending.into_iter().try_for_each(|request| self.apply(request.command).map(drop).or_else(refused))
    }

    /// Executes a request and replies.
    fn execute(&mut self, request: Request) -> io::Result<()> {
        let cookie = request.cookie;
        let reply = match self.apply(request.command) {
            Ok(data) => wire::reply(cookie, 0, &data),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => wire::reply(cookie, EINVAL, &[]),
            Err(error) => {
                // The guest gets an error that the check does not expect, and ends.
                self.send(&wire::reply(cookie, EIO, &[]))?;
                return Err(io::Error::other(format!("the disk's file: {error}")));
            }
        };
        self.send(&reply)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    /// Executes a command; returns the data of a read. `InvalidInput` for an unknown command or a
    /// range outside the disk.
    fn apply(&self, command: Command) -> io::Result<Vec<u8>> {
        let mut disk = lock(self.disk);
        let range = |disk: &VolatileDisk, offset, length| match disk.has(offset, length) {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        match command {
            Command::Read { offset, length } => {
                range(&disk, offset, u64::from(length))?;
                let mut data = vec![0; usize::try_from(length).unwrap_or(0)];
                disk.read(offset, &mut data)?;
                return Ok(data);
            }
            Command::Write { offset, data, durable } => {
                range(&disk, offset, data.len() as u64)?;
                disk.write(offset, data, durable)?;
            }
            Command::Discard { offset, length, durable } => {
                range(&disk, offset, u64::from(length))?;
                disk.discard(offset, u64::from(length), durable)?;
            }
            Command::Flush => disk.flush()?,
            Command::Disconnect => {}
            Command::Unknown => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
        Ok(Vec::new())
    }
}

/// Ignores `InvalidInput`: a refused command changes nothing.
fn refused(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::InvalidInput { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
