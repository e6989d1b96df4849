//! Requests to an array in memory: their replies, the changes they publish, and the state after a
//! restart.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod access;
mod connect;
mod effect;
mod events;
mod exports;
mod files;
mod host_groups;
mod hosts;
mod jobs;
mod locks;
mod management;
mod mirror;
mod nfs_clients;
mod offload;
mod pages;
mod paths;
mod ports;
mod qos;
mod reservations;
mod restart;
mod revisions;
mod samples;
mod sanitize;
mod schedules;
mod search;
mod shares;
mod snapshots;
mod space;
mod trash;
mod volumes;

use crate::memory::MemoryCatalog;
use crate::memory::environment::MemoryEnvironment;
use crate::memory::live::MemoryLive;
use crate::*;
use futures_executor::block_on;
use futures_util::future::{FutureExt, select};
use jiff::Timestamp;
use std::rc::Rc;
use std::task::Poll;

const ESX01: &str = "iqn.1998-01.com.vmware:esx01";

/// Array in memory.
struct Array {
    control: Control,
    live: Rc<MemoryLive>,
    catalog: Rc<MemoryCatalog>,
    environment: Rc<MemoryEnvironment>,
}

impl Array {
    fn new() -> Self {
        Self::over(Rc::new(MemoryCatalog::default())).unwrap()
    }

    fn over(catalog: Rc<MemoryCatalog>) -> Result<Self, ControlError> {
        Self::with_portals(catalog, &["192.0.2.10:3260", "192.0.2.11:3260"])
    }

    fn with_portals(catalog: Rc<MemoryCatalog>, portals: &[&str]) -> Result<Self, ControlError> {
        let without_groups: Vec<(&str, Option<u16>)> = portals.iter().map(|portal| (*portal, None)).collect();
        Self::with_groups(catalog, &without_groups)
    }

    fn with_groups(catalog: Rc<MemoryCatalog>, portals: &[(&str, Option<u16>)]) -> Result<Self, ControlError> {
        let live = Rc::new(MemoryLive::default());
        let listen = |address: &str| address.parse().unwrap();
        let told = portals.iter().map(|(address, _)| Portal { listen: listen(address), advertised: (*address).into() });
        live.portals.replace(told.collect());
        let options = ArrayOptions {
            pool_name: "p0".to_owned(),
            iqn_base: "iqn.2026-01.org.example".to_owned(),
            target_name: Some("test".to_owned()),
            limits: Limits::default(),
            background_share_percent: 20,
            https_fault: None,
            portals: portals.iter().map(|&(address, group)| PortalOptions { listen: listen(address), group }).collect(),
        };
        let environment = Rc::new(MemoryEnvironment::default());
        let control = block_on(Control::open(catalog.clone(), live.clone(), environment.clone(), options))?;
        Ok(Self { control, live, catalog, environment })
    }

    fn run<R: Request>(&self, request: R) -> Result<R::Reply, ControlError> {
        block_on(self.control.execute(request))
    }

    /// Simulates a power loss after `commits` more commits of this request, and restarts the array.
    /// True if the request finished before.
    fn crash_after(self, commits: u64, action: impl Request) -> (Self, bool) {
        self.catalog.crash_after.set(Some(commits));
        let done = self.control.execute(action).now_or_never().is_some();
        self.catalog.crash_after.set(None);
        (Self::over(self.catalog).unwrap(), done)
    }

    fn code(&self, request: impl Request) -> &'static str {
        self.run(request).err().unwrap().code()
    }

    /// Documents with this prefix, as text.
    fn documents(&self, prefix: &str) -> Vec<(String, String)> {
        let documents = pool::Catalog::documents(&*self.catalog, prefix).into_iter();
        documents.map(|(key, value)| (key, String::from_utf8(value.to_vec()).unwrap())).collect()
    }

    fn create(&self, name: &str) -> VolumeView {
        let create = VolumeCreate { name: name.to_owned(), size_bytes: Some(1 << 30), ..VolumeCreate::default() };
        volume(self.run(create)).0
    }

    fn create_host(&self, name: &str, iqn: &str) {
        let create = HostCreate { name: name.to_owned(), iqns: vec![iqn.to_owned()], ..HostCreate::default() };
        self.run(create).unwrap();
    }

    fn grant(&self, volume: &str, host: Option<&str>, lun: Option<u16>) -> Result<u16, ControlError> {
        let grantee = host.map_or(Grantee::Any, |host| Grantee::Host(host.to_owned()));
        let outcome = self.run(AccessGrant { volume: volume.to_owned(), grantee, lun })?;
        Ok(outcome.view.record.lun)
    }

    /// Codes of the active alerts.
    fn alerts(&self) -> Vec<&'static str> {
        self.run(AlertList).unwrap().into_iter().map(|alert| alert.code).collect()
    }

    fn log_in(&self, id: u64, initiator: &str) {
        self.live.sessions.borrow_mut().push(SessionInfo {
            id,
            initiator: initiator.to_owned(),
            portal: "192.0.2.10:3260".parse().unwrap(),
            target_port: 1,
            peer_address: "192.0.2.77:40000".parse().unwrap(),
            since: Timestamp::UNIX_EPOCH,
            last_io: None,
            commands: 3,
            read_bytes: 4096,
            written_bytes: 512,
            mss_bytes: Some(1448),
            parameters: SessionParameters::default(),
            seen: SessionSeen::default(),
        });
    }
}

/// Runs the background tasks until no job is running.
fn run_jobs(control: &Control) {
    let ended = std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        let jobs = control.execute(JobList).now_or_never().unwrap().unwrap();
        if jobs.iter().any(|job| job.state == JobState::Running) { Poll::Pending } else { Poll::Ready(()) }
    });
    block_on(select(Box::pin(control.background()), Box::pin(ended)));
}

fn volume(reply: Result<impl About<VolumeView>, ControlError>) -> (VolumeView, bool) {
    reply.unwrap().about()
}

/// Reply about one object: its view, and whether the request changed it.
trait About<V> {
    fn about(self) -> (V, bool);
}

impl<V> About<V> for Outcome<V> {
    fn about(self) -> (V, bool) {
        (self.view, self.changed)
    }
}

impl About<VolumeView> for VolumeView {
    fn about(self) -> (VolumeView, bool) {
        (self, false)
    }
}

impl About<HostView> for HostView {
    fn about(self) -> (HostView, bool) {
        (self, false)
    }
}

impl About<JobView> for JobView {
    fn about(self) -> (JobView, bool) {
        (self, false)
    }
}
