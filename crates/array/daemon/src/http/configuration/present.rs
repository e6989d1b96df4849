//! The present configuration, of one instant of the mirror.

use crate::http::problem::{Fault, Refusal};
use crate::http::{channels, convert, people};
use crate::notices::Desk;
use crate::people::Gate;
use configuration::{
    Access, Channel, Chap, Configuration, Export, Host, HostGroup, Invalid, Kind, Pool, PortGroup, Portal, Schedule,
    Share, Token, User, Volume,
};
use control::{ControlError, Facts, Read};
use reactor::ArrayHandle;

/// Reads all objects that a configuration has.
struct Everything;

/// Their views.
struct Views {
    pools: Vec<api::Pool>,
    portals: Vec<api::Portal>,
    groups_of_portals: Vec<api::PortGroup>,
    volumes: Vec<api::Volume>,
    shares: Vec<api::Share>,
    hosts: Vec<api::Host>,
    host_groups: Vec<control::HostGroupView>,
    access: Vec<api::Access>,
    exports: Vec<api::Export>,
    schedules: Vec<api::Schedule>,
}

impl Read for Everything {
    type Reply = Views;
    const NAME: &'static str = "configuration-show";

    fn answer(&self, facts: &dyn Facts) -> Result<Views, ControlError> {
        fn all<R: Read<Reply = Vec<V>>, V, T>(
            facts: &dyn Facts,
            list: R,
            convert: impl Fn(V) -> T,
        ) -> Result<Vec<T>, ControlError> {
            Ok(list.answer(facts)?.into_iter().map(convert).collect())
        }
        let volumes =
            control::VolumeList { seen_by: None, reserve: None, source: None, min_size_bytes: None, has: None };
        Ok(Views {
            pools: all(facts, control::PoolList, convert::pool)?,
            portals: all(facts, control::PortalList, convert::portal)?,
            groups_of_portals: all(facts, control::PortGroupList, convert::port_group)?,
            volumes: all(facts, volumes, convert::volume)?,
            shares: all(facts, control::ShareList { host: None, has: None }, convert::share)?,
            hosts: all(facts, control::HostList { group: None, has: None }, convert::host)?,
            host_groups: control::HostGroupList.answer(facts)?,
            access: all(facts, control::AccessList { volume: None, grantee: None }, convert::access)?,
            exports: all(facts, control::ExportList { share: None, grantee: None }, convert::export)?,
            schedules: all(facts, control::ScheduleList, convert::schedule)?,
        })
    }
}

/// The present configuration, and the name of the pool.
pub(in crate::http) async fn present(
    array: &ArrayHandle,
    gate: &Gate,
    desk: &Desk,
) -> Result<(Configuration, String), Fault> {
    let views = array.read(Everything).await?;
    let pool = views.pools.first().map(|pool| pool.name.clone()).unwrap_or_default();
    let channels =
        desk.see(|notices| notices.channels().iter().map(|record| channels::shown(notices, record)).collect());
    let users = gate.see(|people| people.users().into_iter().map(people::account).collect());
    let tokens = gate.see(|people| people.tokens().into_iter().map(people::token).collect());
    let whole = whole(views, channels, users, tokens);
    // Names are unique on the array.
    let whole = whole.map_err(|error| Fault::from(Refusal::Configuration(error)))?;
    Ok((whole, pool))
}

fn whole(
    views: Views,
    channels: Vec<api::Channel>,
    users: Vec<api::Account>,
    tokens: Vec<api::Token>,
) -> Result<Configuration, Invalid> {
    let mut whole = Configuration::default();
    let volumes = views.volumes.iter().map(|volume| (Kind::Volume, &volume.name, volume.snapshots));
    let shares = views.shares.iter().map(|share| (Kind::Share, &share.name, share.snapshots));
    volumes.chain(shares).for_each(|(kind, name, snapshots)| whole.note_snapshots(kind, name, snapshots));
    whole.add(each(views.pools.into_iter().take(1).collect(), pool))?;
    whole.add(each(views.portals, portal))?;
    whole.add(each(views.groups_of_portals, |group| PortGroup {
        id: group.id,
        state: group.state,
        preferred: group.preferred,
    }))?;
    whole.add(each(views.volumes, volume))?;
    whole.add(each(views.shares, share))?;
    whole.add(each(views.hosts, host))?;
    whole.add(each(views.host_groups, |view| HostGroup { name: view.record.name, hosts: view.hosts }))?;
    whole.add(each(views.access, |of| Access { volume: of.volume, host: of.host, lun: of.lun }))?;
    whole.add(each(views.exports, export))?;
    whole.add(each(views.schedules, schedule))?;
    whole.add(each(channels, |of| Channel {
        name: of.name,
        enabled: of.enabled,
        min_severity: of.min_severity,
        codes: of.codes,
        quiet_hours: of.quiet_hours,
        settings: of.settings,
    }))?;
    whole.add(each(users, |of| User { name: of.name, role: of.role, locked: of.locked, password: None }))?;
    whole.add(each(tokens, |of| Token { name: of.name, role: of.role, expires: of.expires, scopes: of.scopes }))?;
    Ok(whole)
}

fn each<V, T>(views: Vec<V>, convert: impl Fn(V) -> T) -> Vec<T> {
    views.into_iter().map(convert).collect()
}

fn pool(pool: api::Pool) -> Pool {
    Pool {
        warn_percent: pool.warn_percent,
        critical_percent: pool.critical_percent,
        commitment_limit_percent: pool.commitment_limit_percent,
        trash_seconds: pool.trash_seconds,
    }
}

fn portal(portal: api::Portal) -> Portal {
    Portal {
        listen: portal.listen,
        group: portal.group,
        redirect: portal.redirect,
        redirect_permanently: portal.redirect_permanently,
    }
}

fn volume(volume: api::Volume) -> Volume {
    Volume {
        name: volume.name,
        size_bytes: volume.size_bytes,
        reserve: volume.reserve,
        overwrite_reserve_percent: volume.overwrite_reserve_percent,
        zero_detection: volume.zero_detection,
        write_cache: volume.write_cache,
        warn_percent: volume.warn_percent,
        critical_percent: volume.critical_percent,
        labels: volume.labels,
    }
}

fn share(share: api::Share) -> Share {
    Share {
        name: share.name,
        protocols: share.protocols,
        copy: share.copy,
        quota_bytes: share.quota_bytes,
        owner_uid: share.owner_uid,
        owner_gid: share.owner_gid,
        mode: share.mode,
    }
}

fn host(host: api::Host) -> Host {
    let chap =
        |chap: api::Chap| Chap { user: chap.user, secret: None, mutual_user: chap.mutual_user, mutual_secret: None };
    Host { name: host.name, iqns: host.iqns, addresses: host.addresses, chap: host.chap.map(chap) }
}

fn export(export: api::Export) -> Export {
    Export {
        share: export.share,
        host: export.host,
        read_only: export.read_only,
        squash: export.squash,
        anonymous_uid: export.anonymous_uid,
        anonymous_gid: export.anonymous_gid,
        privileged_port: export.privileged_port,
    }
}

fn schedule(schedule: api::Schedule) -> Schedule {
    Schedule {
        name: schedule.name,
        zone: schedule.zone,
        volumes: schedule.volumes,
        keep_last: schedule.keep_last,
        lock_seconds: schedule.lock_seconds,
        paused: schedule.paused,
        when: schedule.when,
        keep: schedule.keep,
        label: schedule.label,
    }
}
