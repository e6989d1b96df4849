//! What an administrator's action leaves among the events.

use crate::events::{Draft, Severity};
use crate::{Action, Commitment, Control, ControlError, Grantee, Reply, Request, Reserve, Revoke};
use pool::Growth;

/// What is to be told once the action is done.
pub(crate) struct Note {
    /// Absent when the action tells it by itself.
    draft: Option<Draft>,
    /// Nothing is told when what was to be made was there already.
    makes: bool,
}

impl Note {
    /// Absent for an action that changes nothing. No `_` arm: a new action has to choose.
    pub fn of(action: &Action) -> Option<Self> {
        let (code, subject, message, makes) = match action {
            Action::Ping
            | Action::Status
            | Action::Metrics
            | Action::PoolList
            | Action::PoolShow { .. }
            | Action::VolumeList
            | Action::VolumeShow { .. }
            | Action::VolumeSpace { .. }
            | Action::SnapshotList { .. }
            | Action::SnapshotShow { .. }
            | Action::SnapshotTree { .. }
            | Action::HostList
            | Action::HostShow { .. }
            | Action::AccessList { .. }
            | Action::OffloadStatistics { .. }
            | Action::OffloadLog { .. }
            | Action::PortalList
            | Action::PortalShow { .. }
            | Action::PortGroupList
            | Action::PortGroupShow { .. }
            | Action::JobList
            | Action::JobShow { .. }
            | Action::EventList { .. }
            | Action::AlertList => return None,
            Action::PoolSet(set) => {
                let mut parts = Vec::new();
                parts.extend(set.warn_percent.map(|percent| format!("warns at {percent} %")));
                parts.extend(set.critical_percent.map(|percent| format!("is critical at {percent} %")));
                parts.extend(set.commitment.map(|commitment| match commitment {
                    Commitment::Unlimited => "may be over-committed without limit".to_owned(),
                    Commitment::Percent(percent) => format!("may be committed up to {percent} %"),
                }));
                ("pool-changed", &set.pool, format!("pool {} {}", set.pool, parts.join(", ")), false)
            }
            Action::PoolGrow { pool, growth } => {
                let how = match growth {
                    Growth::Size(bytes) => format!("to {}", text::size::format(*bytes)),
                    Growth::Device(path) => format!("by {}", path.display()),
                };
                ("pool-grown", pool, format!("pool {pool} grew {how}"), false)
            }
            Action::PoolScrub { pool, .. } => ("job-started", pool, format!("scrub of {pool} began"), true),
            Action::PoolCheck { pool, .. } => ("job-started", pool, format!("check of {pool} began"), true),
            Action::PoolReclaim { pool, .. } => ("job-started", pool, format!("reclaim of {pool} began"), true),
            Action::VolumeReclaim { volume, .. } => ("job-started", volume, format!("reclaim of {volume} began"), true),
            Action::VolumeCreate(create) => {
                let from = create.source.as_ref().map(|source| format!(" as a clone of {source}")).unwrap_or_default();
                ("volume-created", &create.name, format!("volume {} was made{from}", create.name), true)
            }
            Action::VolumeSet(set) => {
                let mut parts = Vec::new();
                parts.extend(set.name.as_ref().map(|name| format!("is called {name}")));
                parts.extend(set.size_bytes.map(|bytes| format!("has {}", text::size::format(bytes))));
                let switch = |on| if on { "on" } else { "off" };
                parts.extend(set.write_cache.map(|on| format!("has its write cache {}", switch(on))));
                parts.extend(set.reserve.map(|reserve| match reserve {
                    Reserve::Thick => "is thick".to_owned(),
                    Reserve::Thin => "is thin".to_owned(),
                }));
                let percent = set.overwrite_reserve_percent;
                parts.extend(percent.map(|percent| format!("has an overwrite reserve of {percent} %")));
                parts.extend(set.zero_detection.map(|on| format!("has zero detection {}", switch(on))));
                parts.extend(set.warn_percent.map(|warn| match warn {
                    Some(percent) => format!("warns at {percent} %"),
                    None => "does not warn".to_owned(),
                }));
                parts.extend(set.critical_percent.map(|critical| match critical {
                    Some(percent) => format!("is critical at {percent} %"),
                    None => "is never critical".to_owned(),
                }));
                ("volume-changed", &set.volume, format!("volume {} {}", set.volume, parts.join(", ")), false)
            }
            Action::VolumeRollback(rollback) => {
                let (volume, snapshot) = (&rollback.volume, &rollback.snapshot);
                let kept = rollback.keep.as_ref().map(|name| format!("; what it had is in snapshot {name}"));
                let message =
                    format!("volume {volume} was rolled back to snapshot {snapshot}{}", kept.unwrap_or_default());
                ("volume-rolled-back", volume, message, false)
            }
            Action::VolumeDelete { volume, with_snapshots } => {
                let snapshots = if *with_snapshots { " with its snapshots" } else { "" };
                ("volume-deleted", volume, format!("volume {volume} was deleted{snapshots}"), false)
            }
            Action::SnapshotCreate { volume, name } => {
                ("snapshot-created", volume, format!("snapshot {volume}@{name} was taken"), true)
            }
            Action::SnapshotGroup { volumes, name } => {
                let message = format!("snapshots {name} of {} were taken at one instant", volumes.join(", "));
                ("snapshot-created", name, message, true)
            }
            Action::SnapshotDelete { snapshot } => {
                ("snapshot-deleted", snapshot, format!("snapshot {snapshot} was deleted"), false)
            }
            Action::HostCreate(create) => {
                ("host-created", &create.name, format!("host {} was made", create.name), true)
            }
            Action::HostSet(set) => ("host-changed", &set.host, format!("host {} was changed", set.host), false),
            Action::HostDelete { host } => ("host-deleted", host, format!("host {host} was deleted"), false),
            Action::AccessGrant { volume, grantee, .. } => {
                ("access-granted", volume, format!("{} sees volume {volume}", who(grantee)), true)
            }
            Action::AccessRevoke { volume, from } => {
                let who = match from {
                    Revoke::From(grantee) => who(grantee),
                    Revoke::All => "nobody".to_owned(),
                };
                let not = if *from == Revoke::All { "" } else { " no longer" };
                ("access-revoked", volume, format!("{who}{not} sees volume {volume}"), false)
            }
            Action::PortalSet(set) => {
                let mut parts = Vec::new();
                parts.extend(set.group.map(|group| format!("is in target port group {group}")));
                parts.extend(set.redirect.as_ref().map(|redirect| match redirect {
                    Some(redirect) => format!("sends logins to {}", redirect.address),
                    None => "takes logins".to_owned(),
                }));
                ("portal-changed", &set.portal, format!("portal {} {}", set.portal, parts.join(", ")), false)
            }
            Action::PortGroupSet(set) => {
                let mut parts = Vec::new();
                parts.extend(set.state.map(|state| format!("is {}", state.name())));
                let preferred = |preferred| if preferred { "is preferred" } else { "is not preferred" };
                parts.extend(set.preferred.map(|on| preferred(on).to_owned()));
                let message = format!("target port group {} {}", set.group, parts.join(", "));
                let draft = Draft::new(Severity::Info, "port-group-changed", set.group.to_string(), message);
                return Some(Self { draft: Some(draft), makes: false });
            }
            Action::JobSet { job, share_percent } => {
                ("job-changed", job, format!("job {job} has a share of {share_percent} %"), false)
            }
            // Told with what the job did, by `Self::event`.
            Action::JobCancel { .. } => return Some(Self { draft: None, makes: true }),
        };
        Some(Self { draft: Some(Draft::new(Severity::Info, code, subject.clone(), message)), makes })
    }

    /// The event, unless nothing was changed.
    pub fn event(self, reply: &Reply) -> Option<Draft> {
        let made = match reply {
            Reply::Volume { created, .. }
            | Reply::Snapshot { created, .. }
            | Reply::Group { created, .. }
            | Reply::Host { created, .. }
            | Reply::Access { created, .. }
            | Reply::Job { created, .. } => *created,
            _ => true,
        };
        let draft = match (self.draft, reply) {
            (None, Reply::Job { view, .. }) => {
                let (kind, subject) = (view.kind.name(), view.subject.as_str());
                let message = format!("{kind} of {subject} cancelled: {}", view.summary);
                Some(Draft::info("job-cancelled", subject, message))
            }
            (draft, _) => draft,
        };
        draft.filter(|_| made || !self.makes)
    }
}

/// The enum of all requests, until each has its own type.
impl Request for Action {
    type Reply = Reply;
    const NAME: &'static str = "action";

    async fn run(&self, control: &Control) -> Result<Reply, ControlError> {
        control.dispatch(self.clone()).await
    }

    fn event(&self, reply: &Reply) -> Option<Draft> {
        Note::of(self)?.event(reply)
    }
}

fn who(grantee: &Grantee) -> String {
    match grantee {
        Grantee::Host(host) => format!("host {host}"),
        Grantee::Any => "every initiator".to_owned(),
    }
}
