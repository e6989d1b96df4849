//! What a run needs on the array: volumes, and a host with CHAP to which they are granted. All of it has names that
//! no other run has, and volumes carry a label, so that it is found and removed also after the array was killed.

use super::admission::Wanted;
use control::{
    AccessGrant, AccessState, ChapSet, ControlError, Grantee, HostCreate, HostDelete, HostList, HostShow, PortalList,
    Reserve, Secret, VolumeCreate, VolumeDelete, VolumeList, VolumeShow,
};
use pool::ObjectId;
use reactor::ArrayHandle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Label of scratch volumes; its value is the name of the volume. Requests of others cannot set it.
pub(crate) const LABEL: &str = "windlass-laboratory";
/// Beginning of the names of scratch volumes and hosts.
const PREFIX: &str = "lab-scratch-";
/// Beginning of the initiator names of scratch hosts.
const INITIATOR: &str = "iqn.2026-01.org.example:windlass-";
/// Name by which a scratch host authenticates itself.
const CHAP_USER: &str = "windlass-laboratory";
/// Longest time for the removal: sessions of a process that has died end first.
const REMOVAL: Duration = Duration::from_secs(30);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Names of what a run makes on the array. They are durable before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scratch {
    pub(super) host: String,
    pub(super) volumes: Vec<String>,
}

/// What was made, as the process of the run needs it.
#[derive(Debug)]
pub(super) struct Made {
    /// URLs of the logical units, without the secret.
    pub(super) urls: Vec<String>,
    /// Name of the initiator.
    pub(super) initiator: String,
    /// CHAP secret.
    pub(super) secret: Secret,
    /// Objects of the volumes.
    pub(super) objects: Vec<ObjectId>,
}

fn initiator(host: &str) -> String {
    format!("{INITIATOR}{host}")
}

impl Scratch {
    /// Names that nothing else has.
    pub(super) fn new(wanted: &Wanted) -> Result<Self, String> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| format!("the operating system gives no random bytes: {error}"))?;
        let host = format!("{PREFIX}{:016x}", u64::from_be_bytes(random));
        let count = if wanted.second_volume { 2 } else { 1 };
        let volumes = (1..=count).map(|number| format!("{host}-{number}")).collect();
        Ok(Self { host, volumes })
    }

    /// Makes the host, the volumes and the grants.
    ///
    /// Errors: a sentence. What was made until then is still there, for [`Self::remove`].
    pub(super) async fn make(&self, wanted: &Wanted, array: &ArrayHandle) -> Result<Made, String> {
        let words = |error: ControlError| error.to_string();
        let (address, target) = portal(array).await?;
        let initiator = initiator(&self.host);
        let chap = ChapSet { user: CHAP_USER.to_owned(), secret: None, generate: true, mutual: None };
        let (name, iqns) = (self.host.clone(), vec![initiator.clone()]);
        let host = HostCreate { name, iqns, addresses: Vec::new(), chap: Some(chap) };
        let host = array.call(host).await.map_err(words)?;
        let secret = host.view.generated.and_then(|generated| generated.chap);
        // Absent if the host existed: it is that of somebody else.
        let secret = secret.ok_or_else(|| format!("a host {} exists already", self.host))?;
        let (mut urls, mut objects) = (Vec::new(), Vec::new());
        for volume in &self.volumes {
            let create = VolumeCreate {
                name: volume.clone(),
                size_bytes: Some(wanted.size.unit_bytes()),
                reserve: Some(Reserve::Thin),
                labels: BTreeMap::from([(LABEL.to_owned(), volume.clone())]),
                ..VolumeCreate::default()
            };
            let made = array.call(create).await.map_err(words)?;
            if !made.changed {
                return Err(format!("a volume {volume} exists already"));
            }
            objects.push(made.view.record.object);
            let grantee = Grantee::Host(self.host.clone());
            let granted = AccessGrant { volume: volume.clone(), grantee, lun: None };
            let lun = array.call(granted).await.map_err(words)?.view.record.lun;
            urls.push(format!("iscsi://{CHAP_USER}@{address}/{target}/{lun}"));
        }
        Ok(Made { urls, initiator, secret, objects })
    }

    /// Removes everything, volumes with their snapshots. What does not exist counts as removed. Returns what is left,
    /// in sentences.
    pub(super) async fn remove(&self, array: &ArrayHandle) -> Vec<String> {
        let mut left = Vec::new();
        for volume in &self.volumes {
            left.extend(until_gone(&format!("volume {volume}"), || remove_volume(array, volume, true)).await);
        }
        left.extend(until_gone(&format!("host {}", self.host), || remove_host(array, &self.host)).await);
        left
    }
}

/// Tries a removal until it succeeds. Returns a sentence if it does not in time.
async fn until_gone<F: Future<Output = Result<(), ControlError>>>(
    what: &str,
    mut remove: impl FnMut() -> F,
) -> Option<String> {
    let deadline = tokio::time::Instant::now() + REMOVAL;
    loop {
        match remove().await {
            Ok(()) => return None,
            Err(ControlError::NotRunning) => return Some(format!("{what}: {}", ControlError::NotRunning)),
            Err(error) if tokio::time::Instant::now() >= deadline => return Some(format!("{what}: {error}")),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Removes a scratch volume. `now`: not by the trash, unless the trash has a lock, which keeps everything.
async fn remove_volume(array: &ArrayHandle, volume: &str, now: bool) -> Result<(), ControlError> {
    match array.read(VolumeShow { volume: volume.to_owned() }).await {
        // A volume that an administrator has made his own.
        Ok(view) if view.record.labels.get(LABEL).is_none_or(|value| *value != view.record.name) => return Ok(()),
        Ok(_) => {}
        Err(ControlError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    let delete = |now| VolumeDelete { volume: volume.to_owned(), with_snapshots: true, revoke: true, now };
    let deleted = match array.call(delete(now)).await {
        Err(error) if error.code() == "trash-locked" => array.call(delete(false)).await,
        deleted => deleted,
    };
    match deleted {
        Ok(_) | Err(ControlError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn remove_host(array: &ArrayHandle, host: &str) -> Result<(), ControlError> {
    match array.read(HostShow { host: host.to_owned() }).await {
        Ok(view) if !is_ours(&view) => return Ok(()),
        Ok(_) => {}
        Err(ControlError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    match array.call(HostDelete { host: host.to_owned() }).await {
        Ok(_) | Err(ControlError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// True for a host of the laboratory, and not for one of an administrator's with its name.
pub(crate) fn is_scratch_host(name: &str, initiators: &[String]) -> bool {
    name.starts_with(PREFIX) && *initiators == [initiator(name)]
}

/// True for a volume of the laboratory.
pub(crate) fn is_scratch_volume(name: &str, labels: &BTreeMap<String, String>) -> bool {
    name.starts_with(PREFIX) && labels.get(LABEL).is_some_and(|value| value == name)
}

fn is_ours(view: &control::HostView) -> bool {
    let names = view.record.initiators.iter().cloned().map(String::from).collect::<Vec<_>>();
    is_scratch_host(&view.record.name, &names)
}

/// Removes scratch volumes and hosts of which no record tells: it was lost with the state directory, or could not be
/// read. No run goes on.
pub(super) async fn remove_unknown(array: &ArrayHandle) {
    let is_scratch = |view: &control::VolumeView| is_scratch_volume(&view.record.name, &view.record.labels);
    let volumes = array.read(VolumeList::default()).await.unwrap_or_default();
    let hosts = array.read(HostList::default()).await.unwrap_or_default();
    for volume in volumes.into_iter().filter(is_scratch).map(|view| view.record.name) {
        tracing::warn!(volume, "a scratch volume of the laboratory without a run is removed");
        // By the trash: before this release, anybody could give a volume this name and label.
        if let Err(error) = remove_volume(array, &volume, false).await {
            tracing::warn!(volume, %error, "the scratch volume cannot be removed");
        }
    }
    for host in hosts.into_iter().filter(is_ours).map(|view| view.record.name) {
        tracing::warn!(host, "a host of the laboratory without a run is removed");
        if let Err(error) = remove_host(array, &host).await {
            tracing::warn!(host, %error, "the host of the laboratory cannot be removed");
        }
    }
}

/// Address of a portal that takes logins and is on the best path, from this machine; and the target.
async fn portal(array: &ArrayHandle) -> Result<(SocketAddr, String), String> {
    let portals = array.read(PortalList).await.map_err(|error| error.to_string())?;
    let usable = portals.into_iter().filter(|portal| portal.redirect.is_none());
    let rank = |state: AccessState| match state {
        AccessState::ActiveOptimized => 0,
        AccessState::ActiveNonOptimized => 1,
        AccessState::Standby | AccessState::Unavailable | AccessState::Transitioning => 2,
    };
    let best = usable.filter(|portal| rank(portal.state) < 2).min_by_key(|portal| rank(portal.state));
    let best = best.ok_or("no portal takes logins and is active")?;
    let listen = best.portal.listen;
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok((SocketAddr::new(ip, listen.port()), best.target))
}
