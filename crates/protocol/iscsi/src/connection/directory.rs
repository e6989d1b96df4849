//! Interface from a connection to the array: access to targets, authentication, and amount of
//! Data-Out of a CDB.

use crate::chap::Credentials;
use crate::pdu::LoginStatus;

/// Target as SendTargets lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRecord {
    /// iSCSI name.
    pub name: String,
    /// `address:port,tag`: IPv6 addresses in brackets, tag the Target Portal Group Tag (RFC 7143 §13.8).
    pub addresses: Vec<String>,
}

/// Authentication required of an initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// None; CHAP is not offered.
    None,
    /// CHAP.
    Chap {
        /// Credentials that the initiator may use. Several are for several users of one host.
        accepted: Vec<Credentials>,
        /// Our credentials for mutual authentication; `None` makes a login that requests it fail.
        own: Option<Credentials>,
        /// Hash functions that are accepted.
        algorithms: Vec<crate::chap::Algorithm>,
    },
}

/// Permission to continue a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Authentication required.
    pub authentication: Authentication,
    /// Target Portal Group Tag of the portal of the connection. Not sent in discovery sessions.
    pub target_portal_group_tag: u16,
    /// TargetAlias to send, if any.
    pub target_alias: Option<String>,
}

/// Refusal of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Login status, for instance [`LoginStatus::TARGET_NOT_FOUND`] or [`LoginStatus::AUTHORIZATION_FAILURE`].
    Status(LoginStatus),
    /// The target is at another address.
    Moved {
        /// `address:port`, sent as TargetAddress.
        address: String,
        /// True for 0102h, false for 0101h.
        permanently: bool,
    },
}

/// Logical unit at a LUN when a command arrived. The command is for that logical unit only, even if
/// another one is there when its data has arrived. Only the directory and the shell interpret it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Logical unit; `None` if there was none.
    pub logical_unit: Option<u64>,
    /// Content generation of the logical unit, as the directory counts it.
    pub content_generation: u64,
}

/// Policy and facts that the protocol needs from above. Calls must be quick: they run between two
/// PDUs.
pub trait Directory {
    /// Targets that `initiator_name` may see, with the portals it can reach. Called for SendTargets.
    fn targets(&self, initiator_name: &str) -> Vec<TargetRecord>;

    /// Decides whether `initiator_name` may log in to `target_name`, or (`None`) to discovery. Both
    /// names are normalized ([`names::normalize`](crate::names::normalize)). Called once for each
    /// login, before authentication.
    fn admit(&self, initiator_name: &str, target_name: Option<&str>) -> Result<Admission, Refusal>;

    /// Canonical form of a LUN, by which tasks are compared: LUNs of different formats that name
    /// the same logical unit have the same canonical form.
    fn canonical_lun(&self, lun: [u8; 8]) -> [u8; 8] {
        lun
    }

    /// Logical unit that is at a LUN now. Called when a command arrives.
    fn arrival(&self, _lun: [u8; 8]) -> Arrival {
        Arrival::default()
    }

    /// Bytes of Data-Out that the device server needs for `cdb`, of the `expected` bytes that the
    /// initiator will send.
    ///
    /// Only that much is solicited and stored; data beyond it is received and dropped. A value
    /// above `expected` counts as `expected`. 0 for a command that will fail without looking at its
    /// data.
    fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32;
}
