//! How far a host is in using a volume: its logins, paths, what it has asked about, and what it has used.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::host_primitives::{HostPrimitive, PrimitiveStanding, seeing};
use crate::host_warnings::{HostWarning, Looked};
use crate::hosts::HostRecord;
use crate::live::{SessionInfo, SessionParameters, SessionSeen, UnitSeen};
use crate::logins::{LoginList, LoginView};
use crate::page::Listed;
use crate::ports::PortalView;
use crate::read::Read;
use jiff::Timestamp;
use pool::ObjectId;
use std::collections::BTreeSet;
use unit::{AccessState, Primitive};

/// Largest number of login attempts in the reply.
const MAX_LOGINS: usize = 32;

/// Reads how far a host is.
#[derive(Clone, Debug)]
pub struct ConnectShow {
    /// Host, by name or id.
    pub host: String,
    /// Volume that it is to use, by name or id; absent: any.
    pub volume: Option<String>,
}

/// Reads the facts that commands on a host name.
#[derive(Clone, Debug)]
pub struct ConnectFactsShow {
    /// Host, by name or id.
    pub host: String,
    /// Volume, by name or id.
    pub volume: String,
}

/// Facts that commands on a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectFacts {
    /// Name of the host.
    pub host: String,
    /// Initiator names of the host.
    pub initiators: Vec<String>,
    /// Name that the host presents with CHAP, and that which the array presents.
    pub chap: Option<(String, Option<String>)>,
    /// Name of the volume.
    pub volume: String,
    /// Its NAA designator.
    pub naa: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its LUN for the host; absent if it is not granted.
    pub lun: Option<u16>,
    /// Number of other volumes that any initiator of the host may use.
    pub other_volumes: usize,
    /// Name of the target.
    pub target: String,
    /// Addresses of the portals that take logins.
    pub portals: Vec<String>,
}

impl Read for ConnectFactsShow {
    type Reply = ConnectFacts;
    const NAME: &'static str = "connect-facts";

    fn answer(&self, facts: &dyn Facts) -> Result<ConnectFacts, ControlError> {
        let directory = facts.directory();
        let (host, volume) = (directory.host(&self.host)?, directory.volume(&self.volume)?);
        let portals = facts.portal_list().into_iter().filter(|portal| portal.redirect.is_none());
        let chap = host.chap.as_ref();
        Ok(ConnectFacts {
            host: host.name.clone(),
            initiators: host.initiators.iter().map(ToString::to_string).collect(),
            chap: chap.map(|chap| (chap.user.clone(), chap.mutual.as_ref().map(|mutual| mutual.user.clone()))),
            volume: volume.name.clone(),
            naa: volume.naa.to_string(),
            size_bytes: facts.object(volume.object).map_or(0, |object| object.size_bytes),
            lun: lun_of(facts, host, volume.object),
            other_volumes: other_volumes(facts, host, volume.object),
            target: directory.target().to_owned(),
            portals: portals.map(|portal| portal.portal.advertised).collect(),
        })
    }
}

/// How far a host is.
#[derive(Clone, Debug)]
pub struct ConnectView {
    /// Name of the host.
    pub host: String,
    /// Name of the volume.
    pub volume: Option<String>,
    /// LUN of the volume for the host; absent without a volume, or without a grant.
    pub lun: Option<u16>,
    /// Its last discovery session.
    pub discovery: Option<LoginView>,
    /// Its last login attempts, newest first.
    pub logins: Vec<LoginView>,
    /// Its sessions.
    pub paths: Vec<ConnectPath>,
    /// Portals that accept logins, through which it has no session.
    pub missing_portals: Vec<String>,
    /// What it has asked about.
    pub asked: Asked,
    /// Primitives of volumes.
    pub primitives: Vec<HostPrimitive>,
    /// First read or write of its present sessions.
    pub first_io: Option<Timestamp>,
    /// What is missing until the volume can be used; empty when it can.
    pub missing: Vec<Missing>,
    /// What is doubtful about the host.
    pub warnings: Vec<HostWarning>,
}

/// Path of a host.
#[derive(Clone, Debug)]
pub struct ConnectPath {
    /// Number of the session.
    pub session: u64,
    /// Portal as announced to hosts.
    pub portal: String,
    /// Its target port group.
    pub group: u16,
    /// State of the group.
    pub state: AccessState,
    /// Time of the login.
    pub since: Timestamp,
    /// Remote address.
    pub from: std::net::SocketAddr,
    /// As in [`SessionInfo`].
    pub mss_bytes: Option<u32>,
    /// As in [`SessionInfo`].
    pub parameters: SessionParameters,
}

/// What a host has asked about, of the volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// READ CAPACITY.
    pub capacity: Option<Timestamp>,
    /// VPD page B0h.
    pub block_limits: Option<Timestamp>,
    /// VPD page B2h.
    pub provisioning: Option<Timestamp>,
    /// VPD page 8Fh.
    pub third_party_copy: Option<Timestamp>,
}

/// What is missing until a host can use a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The host has no initiator name, by which the array could know it.
    Initiator,
    /// The volume is not granted to the host.
    Grant,
    /// The host has no session.
    Login,
    /// The host has a session and has not read the capacity of the volume.
    Capacity,
    /// The last command of a primitive was refused.
    Primitive(Primitive),
}

impl Read for ConnectShow {
    type Reply = ConnectView;
    const NAME: &'static str = "connect-show";

    fn answer(&self, facts: &dyn Facts) -> Result<ConnectView, ControlError> {
        let directory = facts.directory();
        let host = directory.host(&self.host)?;
        let volume = self.volume.as_deref().map(|volume| directory.volume(volume)).transpose()?;
        let object = volume.map(|volume| volume.object);
        let is_own =
            |session: &&SessionInfo| directory.host_of(&session.initiator).is_some_and(|owner| owner.id == host.id);
        let sessions: Vec<&SessionInfo> = facts.sessions().iter().filter(is_own).collect();
        let portals = facts.portal_list();
        let logins = LoginList { host: Some(self.host.clone()), ..LoginList::default() }.all(facts)?;
        let discovery = logins.iter().find(|login| login.attempt.knock.discovery).cloned();
        let lun = object.and_then(|object| lun_of(facts, host, object));
        let has = |portal: &PortalView| sessions.iter().any(|session| session.target_port == portal.identifier);
        let missing_portals = portals.iter().filter(|portal| portal.redirect.is_none() && !has(portal));
        let missing_portals = missing_portals.map(|portal| portal.portal.advertised.clone()).collect();
        let primitives = HostPrimitive::all(&sessions, object);
        let asked = asked(&sessions, object);
        let mut missing = Vec::new();
        missing.extend(host.initiators.is_empty().then_some(Missing::Initiator));
        missing.extend((volume.is_some() && lun.is_none() && !host.initiators.is_empty()).then_some(Missing::Grant));
        match (sessions.is_empty(), asked.capacity) {
            (true, _) => missing.push(Missing::Login),
            (false, None) => missing.push(Missing::Capacity),
            (false, Some(_)) => {}
        }
        let refused = primitives.iter().filter(|row| row.standing == PrimitiveStanding::NotSupported);
        missing.extend(refused.map(|row| Missing::Primitive(row.primitive)));
        let looked = Looked { host, sessions: &sessions, portals: &portals, logins: &logins, now: facts.now() };
        let warnings = looked.warnings(facts);
        Ok(ConnectView {
            host: host.name.clone(),
            volume: volume.map(|volume| volume.name.clone()),
            lun,
            discovery,
            logins: logins.into_iter().take(MAX_LOGINS).collect(),
            paths: sessions.iter().map(|session| path(session, &portals)).collect(),
            missing_portals,
            first_io: transferred(&sessions, object),
            asked,
            primitives,
            missing,
            warnings,
        })
    }
}

/// LUN of a volume for a host: for each of its initiators, or for every initiator.
fn lun_of(facts: &dyn Facts, host: &HostRecord, object: ObjectId) -> Option<u16> {
    let nexus = facts.directory().nexus(&host.initiators.first()?.to_string());
    nexus.logical_units.iter().find(|unit| unit.object == object).map(|unit| unit.lun)
}

/// Number of volumes beside one that a host may use.
fn other_volumes(facts: &dyn Facts, host: &HostRecord, object: ObjectId) -> usize {
    let initiators = host.initiators.iter().map(ToString::to_string);
    let units = initiators.flat_map(|initiator| facts.directory().nexus(&initiator).logical_units);
    let objects: BTreeSet<ObjectId> = units.map(|unit| unit.object).filter(|other| *other != object).collect();
    objects.len()
}

fn path(session: &SessionInfo, portals: &[PortalView]) -> ConnectPath {
    let portal = portals.iter().find(|portal| portal.identifier == session.target_port);
    ConnectPath {
        session: session.id,
        portal: portal.map_or_else(|| session.portal.to_string(), |portal| portal.portal.advertised.clone()),
        group: portal.map_or(0, |portal| portal.group),
        state: portal.map_or(AccessState::Unavailable, |portal| portal.state),
        since: session.since,
        from: session.peer_address,
        mss_bytes: session.mss_bytes,
        parameters: session.parameters,
    }
}

fn asked(sessions: &[&SessionInfo], object: Option<ObjectId>) -> Asked {
    let last = |of: fn(&UnitSeen) -> bool, time: fn(&SessionSeen) -> Option<Timestamp>| {
        seeing(sessions, object, of).filter_map(time).max()
    };
    Asked {
        capacity: last(|unit| unit.capacity, |seen| seen.capacity),
        block_limits: last(|unit| unit.block_limits, |seen| seen.block_limits),
        provisioning: last(|unit| unit.provisioning, |seen| seen.provisioning),
        third_party_copy: last(|unit| unit.third_party_copy, |seen| seen.third_party_copy),
    }
}

fn transferred(sessions: &[&SessionInfo], object: Option<ObjectId>) -> Option<Timestamp> {
    seeing(sessions, object, |unit| unit.transferred).filter_map(|seen| seen.first_io).min()
}
