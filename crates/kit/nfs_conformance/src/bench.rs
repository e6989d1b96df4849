//! Bench of a check: clients, directories and content.

use crate::client::{Client, Outside};
use crate::credential::user;
use crate::executor::Executor;
use crate::harness::Remembered;
use crate::need::Need;
use crate::operations as op;
use crate::options::Options;
use crate::reply::take;
use crate::wire::Wire;
use nfs::v4::operations::Outcome;
use nfs::v4::{Filehandle, Status};
use onc_rpc::auth::OpaqueAuth;
use random::Random;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use verdict::{NotPassed, Verdict, failed, skipped};

/// Resources of a check.
pub struct Bench<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    executor: Rc<Executor>,
    /// Different from run to run.
    run: u64,
    /// Number of clients and names so far.
    count: u64,
    random: Random,
    /// Directory of the run and the name of it.
    scratch: Option<Filehandle>,
    strict: Option<bool>,
}

impl<'a> Bench<'a> {
    /// Creates a bench without connections. `stop` ends long checks early.
    pub fn new(options: &'a Options, stop: &'a AtomicBool) -> Result<Self, NotPassed> {
        let mut seed = [0; 8];
        let broken = |reason: String| NotPassed::Failed(reason);
        getrandom::fill(&mut seed).map_err(|error| broken(error.to_string()))?;
        let executor = Rc::new(Executor::new().map_err(|error| broken(error.to_string()))?);
        let run = u64::from_be_bytes(seed);
        let (random, strict) = (Random::new(run), options.strict);
        Ok(Self { options, stop, executor, run, count: 0, random, scratch: None, strict })
    }

    /// First requirement of a check that is not met.
    pub fn missing_need(&self, needs: &[Need]) -> Option<Need> {
        needs.iter().copied().find(|need| match need {
            Need::MinorTwo => self.options.minor < 2,
            Need::SecondShare => self.options.second_share.is_none(),
            Need::Restart => self.options.harness.is_none(),
            Need::Thorough => !self.options.thorough,
        })
    }

    /// Options of the run.
    pub fn options(&self) -> &Options {
        self.options
    }

    /// Whether choices of Windlass are requirements: as the options say, or if the server names itself
    /// so in EXCHANGE_ID.
    pub fn is_strict(&mut self) -> bool {
        if self.strict.is_none() {
            self.strict = self.client().ok().map(|client| {
                let implementation = client.exchanged.implementation.as_ref();
                implementation.is_some_and(|it| it.name.to_ascii_lowercase().starts_with(b"windlass"))
            });
        }
        self.strict.unwrap_or(false)
    }

    /// Skips the check once `stop` is set.
    pub fn check_stopped(&self) -> Verdict {
        if self.stop.load(Ordering::Relaxed) { skipped("interrupted") } else { Ok(()) }
    }

    /// Waits, and serves the connections meanwhile.
    pub fn pause(&self, time: Duration) -> Verdict {
        self.check_stopped()?;
        self.executor.pause(time);
        self.check_stopped()
    }

    /// Restarts the server.
    pub fn restart(&mut self, remembered: Remembered) -> Verdict {
        let Some(harness) = &self.options.harness else { return skipped(Need::Restart.missing()) };
        harness.restart(remembered).map_err(|why| NotPassed::Failed(format!("the server does not start again: {why}")))
    }

    /// A client after a restart of the server: its owner again, over a new connection. RECLAIM_COMPLETE is left to the
    /// caller.
    pub fn come_back(&self, client: &Client) -> Result<Client, NotPassed> {
        Client::begin(client.outside.reconnect()?, &client.owner)
    }

    /// Random numbers, different in each run.
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// A number that no earlier call returned.
    pub fn fresh(&mut self) -> u64 {
        self.count += 1;
        self.run.wrapping_add(self.count)
    }

    /// `length` bytes without zeros that differ from call to call.
    pub fn content(&mut self, length: usize) -> Vec<u8> {
        let seed = self.fresh();
        let mut data = random::pattern(seed, length.next_multiple_of(8) as u64);
        data.truncate(length);
        data.iter_mut().for_each(|byte| *byte |= 1);
        data
    }

    // Connections.

    /// A TCP connection without calls.
    pub fn wire(&self) -> Result<Wire, NotPassed> {
        Wire::connect(&self.options.url.server(), self.options.timeout)
    }

    /// A connection for compounds outside a session, as uid 0.
    pub fn outside(&self) -> Result<Outside, NotPassed> {
        let server = self.options.url.server();
        Outside::connect(Rc::clone(&self.executor), &server, self.options.timeout, self.options.minor)
    }

    /// A name of a client that no other client has.
    pub fn owner(&mut self) -> Vec<u8> {
        format!("windlass-conformance-{:016x}", self.fresh()).into_bytes()
    }

    /// A new client with a session, as uid 0.
    pub fn client(&mut self) -> Result<Client, NotPassed> {
        self.client_as(user(0))
    }

    /// A new client with a session and this credential.
    pub fn client_as(&mut self, credential: OpaqueAuth) -> Result<Client, NotPassed> {
        let owner = self.owner();
        let mut outside = self.outside()?;
        outside.credential = credential;
        let mut client = Client::begin(outside, &owner)?;
        client.call([op::reclaim_complete(false)])?.ok()?;
        Ok(client)
    }

    // Files.

    /// Operations that go to the share, or to the directory of the URL.
    pub fn path(&self) -> Vec<nfs::v4::operations::Operation> {
        let url = &self.options.url;
        let names = std::iter::once(&url.share).chain(&url.path);
        std::iter::once(op::put_root()).chain(names.map(op::lookup)).collect()
    }

    /// Handle of the share, or of the directory of the URL.
    pub fn share(&self, client: &mut Client) -> Result<Filehandle, NotPassed> {
        let mut operations = self.path();
        operations.push(op::get_filehandle());
        let reply = client.call(operations)?.ok()?;
        Ok(take!(reply.last()?, Outcome::GetFilehandle))
    }

    /// Handle of the second share.
    pub fn second_share(&self, client: &mut Client) -> Result<Filehandle, NotPassed> {
        let Some(name) = &self.options.second_share else { return skipped(Need::SecondShare.missing()) };
        let reply = client.call([op::put_root(), op::lookup(name), op::get_filehandle()])?.ok()?;
        Ok(take!(reply.last()?, Outcome::GetFilehandle))
    }

    fn scratch_name(&self) -> String {
        format!("conformance-{:016x}", self.run)
    }

    /// An empty directory.
    pub fn directory(&mut self, client: &mut Client) -> Result<Filehandle, NotPassed> {
        let scratch = match &self.scratch {
            Some(scratch) => scratch.clone(),
            None => {
                let share = self.share(client)?;
                let scratch = client.make_directory(&share, self.scratch_name().as_bytes())?;
                client.set_mode(&scratch, 0o777)?;
                self.scratch.insert(scratch).clone()
            }
        };
        let name = format!("{:x}", self.fresh());
        let directory = client.make_directory(&scratch, name.as_bytes())?;
        client.set_mode(&directory, 0o777)?;
        Ok(directory)
    }

    /// A new client and an empty directory: what most checks need.
    pub fn place(&mut self) -> Result<(Client, Filehandle), NotPassed> {
        let mut client = self.client()?;
        let directory = self.directory(&mut client)?;
        Ok((client, directory))
    }

    /// Removes the directory of the run, as far as the server permits.
    pub fn tidy(&mut self) {
        let Some(scratch) = self.scratch.take() else { return };
        let Ok(mut client) = self.client() else { return };
        // What cannot be removed stays; its name says what it is.
        let _stays = self.share(&mut client).and_then(|share| {
            clear(&mut client, &scratch, 0)?;
            client.call([op::put(&share), op::remove(self.scratch_name().as_bytes())])?.ok().map(drop)
        });
    }
}

/// Removes everything in a directory.
fn clear(client: &mut Client, directory: &Filehandle, depth: u32) -> Verdict {
    if depth > 8 {
        return failed("a directory that is too deep");
    }
    for entry in client.list(directory)? {
        let mut again = client.call([op::put(directory), op::remove(&*entry.name)])?;
        if again.status() == Err(Status::NOTEMPTY) {
            let found = client.find(directory, &*entry.name)?;
            clear(client, &found, depth + 1)?;
            again = client.call([op::put(directory), op::remove(&*entry.name)])?;
        }
        again.ok()?;
    }
    Ok(())
}
