//! The present configuration, of one instant of the mirror.

use crate::http::problem::{Fault, Refusal};
use crate::http::{channels, convert, people};
use crate::laboratory::{is_scratch_host, is_scratch_volume};
use crate::notices::Desk;
use crate::people::Gate;
use configuration::{
    Access, Channel, Chap, Configuration, Export, Host, HostGroup, Invalid, Kind, Pool, PortGroup, Portal, QosPolicy,
    Schedule, Share, Token, User, Volume,
};
use control::{ControlError, Facts, Read};
use identity::BOOTSTRAP;
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::collections::BTreeSet;

/// Reads all objects that a configuration has.
struct Everything;

/// Their views.
struct Views {
    pools: Vec<api::Pool>,
    portals: Vec<api::Portal>,
    groups_of_portals: Vec<api::PortGroup>,
    policies: Vec<api::QosPolicy>,
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
            policies: all(facts, control::QosPolicyList, convert::qos_policy)?,
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
    let mut views = array.read(Everything).await?;
    without_scratch(&mut views);
    let pool = views.pools.first().map(|pool| pool.name.clone()).unwrap_or_default();
    let channels =
        desk.see(|notices| notices.channels().iter().map(|record| channels::shown(notices, record)).collect());
    let users = gate.see(|people| people.users().into_iter().map(people::account).collect());
    // The array makes `bootstrap` itself, and a token that has expired can be made by nobody.
    let (live, expired): (Vec<_>, Vec<_>) = gate.see(|people| {
        let now = Timestamp::now();
        let tokens = people.tokens().into_iter().filter(|token| token.name != BOOTSTRAP);
        let tokens = tokens.map(|token| (token.is_live(now), token_entry(people::token(token))));
        tokens.partition(|(is_live, _)| *is_live)
    });
    let tokens = |of: Vec<(bool, Token)>| of.into_iter().map(|(_, token)| token).collect();
    let whole = whole(views, channels, users, tokens(live), tokens(expired));
    // Names are unique on the array.
    let whole = whole.map_err(|error| Fault::from(Refusal::Configuration(error)))?;
    Ok((whole, pool))
}

/// Removes what a run of the laboratory has made, and removes at its end.
fn without_scratch(views: &mut Views) {
    let Views { volumes, hosts, access, .. } = views;
    let is_scratch = |volume: &api::Volume| is_scratch_volume(&volume.name, &volume.labels);
    let names: BTreeSet<&str> =
        volumes.iter().filter(|volume| is_scratch(volume)).map(|volume| volume.name.as_str()).collect();
    access.retain(|of| !names.contains(of.volume.as_str()));
    volumes.retain(|volume| !is_scratch(volume));
    hosts.retain(|host| !is_scratch_host(&host.name, &host.iqns));
}

fn whole(
    views: Views,
    channels: Vec<api::Channel>,
    users: Vec<api::Account>,
    tokens: Vec<Token>,
    expired: Vec<Token>,
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
    whole.add(each(views.policies, qos_policy))?;
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
    whole.add(tokens)?;
    whole.note_expired(expired)?;
    Ok(whole)
}

fn each<V, T>(views: Vec<V>, convert: impl Fn(V) -> T) -> Vec<T> {
    views.into_iter().map(convert).collect()
}

fn token_entry(of: api::Token) -> Token {
    Token { name: of.name, role: of.role, expires: of.expires, scopes: of.scopes }
}

fn pool(pool: api::Pool) -> Pool {
    Pool {
        warn_percent: pool.warn_percent,
        critical_percent: pool.critical_percent,
        commitment_limit_percent: pool.commitment_limit_percent,
        trash_seconds: pool.trash_seconds,
        latency_alert_us: pool.latency_alert_us,
        trash_lock_seconds: (pool.trash_lock_seconds > 0).then_some(pool.trash_lock_seconds),
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

fn qos_policy(policy: api::QosPolicy) -> QosPolicy {
    QosPolicy {
        name: policy.name,
        iops: policy.iops,
        bytes_per_second: policy.bytes_per_second,
        weight: policy.weight,
        shared: policy.shared,
        iops_burst: policy.iops_burst,
        bytes_burst: policy.bytes_burst,
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
        qos_policy: volume.qos_policy,
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
    Host {
        name: host.name,
        iqns: host.iqns,
        addresses: host.addresses,
        qos_policy: host.qos_policy,
        chap: host.chap.map(chap),
    }
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::http::Surroundings;
    use crate::memory::{TemporaryDirectory, spawn};
    use control::{AccessGrant, Grantee, HostCreate, VolumeCreate};
    use std::collections::BTreeMap;

    /// The export of a day on which the laboratory ran could not be applied.
    #[tokio::test]
    async fn what_a_run_of_the_laboratory_needs_is_no_configuration() {
        let directory = TemporaryDirectory::new();
        let (surroundings, array) = (Surroundings::of(directory.path(), false), spawn(|_, _, _| {}));
        for (name, label) in [("lab-scratch-1", "lab-scratch-1"), ("v1", "lab-scratch-1")] {
            let labels = BTreeMap::from([("windlass-laboratory".to_owned(), label.to_owned())]);
            let (name, size_bytes) = (name.to_owned(), Some(1 << 20));
            array.call(VolumeCreate { name, size_bytes, labels, ..VolumeCreate::default() }).await.unwrap();
        }
        let iqns = ["lab-scratch-1", "h1"].map(|host| (host, format!("iqn.2026-01.org.example:windlass-{host}")));
        for (name, iqn) in iqns {
            let host = HostCreate { name: name.to_owned(), iqns: vec![iqn], addresses: Vec::new(), chap: None };
            array.call(host).await.unwrap();
            let volume = if name == "h1" { "v1" } else { name };
            let (volume, grantee) = (volume.to_owned(), Grantee::Host(name.to_owned()));
            array.call(AccessGrant { volume, grantee, lun: None }).await.unwrap();
        }
        let (whole, _) = present(&array, &surroundings.gate, &surroundings.desk).await.unwrap();
        let names = |kind: Kind| whole.objects(kind).unwrap().keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!([names(Kind::Volume), names(Kind::Host), names(Kind::Access)], [["v1"], ["h1"], ["v1 h1"]]);
    }
}
