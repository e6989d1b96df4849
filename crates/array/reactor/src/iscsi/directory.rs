//! The iSCSI layer's queries about targets, hosts and data lengths, answered from `control`'s
//! directory.

use super::Iscsi;
use crate::portal::reached_at;
use iscsi::chap::{Algorithm, Credentials};
use iscsi::connection::{Admission, Arrival, Authentication, Directory, Refusal, TargetRecord};
use iscsi::pdu::LoginStatus;
use media::Media;
use scsi_target::{LogicalUnitNumber, NexusId};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

/// View of the directory from one connection.
pub(crate) struct PortalDirectory<M: Media + 'static> {
    pub iscsi: Rc<Iscsi<M>>,
    /// Index of the portal that accepted the connection.
    pub portal: usize,
    /// Portal address of this connection.
    pub local: Option<SocketAddr>,
    /// I_T nexus; `None` until the session is open.
    pub nexus: Option<NexusId>,
    /// What the last login attempt has claimed.
    pub claimed: Claimed,
}

/// What a login has given, for the log and the list of attempts. It proves nothing.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    name: RefCell<Option<Box<str>>>,
    discovery: Cell<bool>,
}

impl Claimed {
    /// Initiator name of the last login attempt; `None` if it ended before its name was known.
    pub fn last(&self) -> Option<Box<str>> {
        self.name.borrow().clone()
    }

    /// True if the last login attempt is for a discovery session.
    pub fn is_discovery(&self) -> bool {
        self.discovery.get()
    }

    fn set(&self, name: &str, discovery: bool) {
        self.name.replace(Some(name.into()));
        self.discovery.set(discovery);
    }
}

impl<M: Media + 'static> PortalDirectory<M> {
    fn authentication(&self, nexus: &control::Nexus) -> Authentication {
        match &nexus.chap {
            None => Authentication::None,
            Some(chap) => Authentication::Chap {
                accepted: vec![Credentials::new(chap.user.clone(), chap.secret.expose().as_bytes())],
                own: chap.mutual.as_ref().map(|m| Credentials::new(m.user.clone(), m.secret.expose().as_bytes())),
                algorithms: Algorithm::ALL.to_vec(),
            },
        }
    }
}

impl<M: Media + 'static> Directory for PortalDirectory<M> {
    fn targets(&self, initiator_name: &str) -> Vec<TargetRecord> {
        let directory = self.iscsi.reactor.directory();
        let nexus = directory.nexus(initiator_name);
        if nexus.host.is_none() && nexus.logical_units.is_empty() {
            return Vec::new();
        }
        let addresses = self
            .iscsi
            .portals
            .iter()
            .enumerate()
            .filter_map(|(index, portal)| {
                let tag = directory.port_identifiers().get(index).filter(|tag| **tag != 0)?;
                let address = reached_at(portal, self.iscsi.advertise_configured, self.local)?;
                Some(format!("{address},{tag}"))
            })
            .collect();
        vec![TargetRecord { name: directory.target().to_owned(), addresses }]
    }

    fn admit(&self, initiator_name: &str, target_name: Option<&str>) -> Result<Admission, Refusal> {
        self.claimed.set(initiator_name, target_name.is_none());
        let directory = self.iscsi.reactor.directory();
        let nexus = directory.nexus(initiator_name);
        let port = self.iscsi.reactor.port_identifier(self.portal);
        if let Some(target) = target_name {
            if !directory.target().eq_ignore_ascii_case(target) {
                return Err(Refusal::Status(LoginStatus::TARGET_NOT_FOUND));
            }
            if nexus.host.is_none() && nexus.logical_units.is_empty() {
                return Err(Refusal::Status(LoginStatus::AUTHORIZATION_FAILURE));
            }
            if port == 0 {
                // The port has no recorded identifier, which a session would use.
                return Err(Refusal::Status(LoginStatus::SERVICE_UNAVAILABLE));
            }
            if let Some(redirect) = directory.redirect(port) {
                let address = redirect.address.clone();
                return Err(Refusal::Moved { address, permanently: redirect.permanently });
            }
        }
        Ok(Admission { authentication: self.authentication(&nexus), target_portal_group_tag: port, target_alias: None })
    }

    fn canonical_lun(&self, lun: [u8; 8]) -> [u8; 8] {
        LogicalUnitNumber::decode(lun).map_or(lun, LogicalUnitNumber::encode)
    }

    fn arrival(&self, lun: [u8; 8]) -> Arrival {
        let Some(nexus) = self.nexus else { return Arrival::default() };
        let scsi_target::Arrival { volume, content_generation } = self.iscsi.target.arrival(nexus, lun);
        Arrival { logical_unit: volume.map(|volume| volume.0), content_generation }
    }

    fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        match self.nexus {
            Some(nexus) => self.iscsi.target.data_out_bytes(nexus, lun, cdb, expected),
            None => 0,
        }
    }
}
