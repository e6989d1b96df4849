//! What a connection asks of the array around it: who may log in to what, and how much data a CDB wants.

use crate::chap::Credentials;
use crate::pdu::LoginStatus;

/// One target as SendTargets lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRecord {
    /// iSCSI name.
    pub name: String,
    /// `address:port,tag`: IPv6 addresses in brackets, tag the Target Portal Group Tag (RFC 7143 §13.8).
    pub addresses: Vec<String>,
}

/// How an initiator has to prove who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// It need not; CHAP is not offered.
    None,
    /// By CHAP.
    Chap {
        /// What the initiator has to know. Several are for several users of one host.
        accepted: Vec<Credentials>,
        /// What we show when the initiator wants us to authenticate too; `None` makes such a login fail.
        own: Option<Credentials>,
        /// Hash functions to accept.
        algorithms: Vec<crate::chap::Algorithm>,
    },
}

/// The answer to a login attempt that may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// How the initiator has to authenticate.
    pub authentication: Authentication,
    /// Target Portal Group Tag of the portal the connection came in through. Not sent in discovery sessions.
    pub target_portal_group_tag: u16,
    /// TargetAlias to send, if any.
    pub target_alias: Option<String>,
}

/// The answer to a login attempt that ends here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Login status, for instance [`LoginStatus::TARGET_NOT_FOUND`] or [`LoginStatus::AUTHORIZATION_FAILURE`].
    Status(LoginStatus),
    /// The target is reached elsewhere.
    Moved {
        /// `address:port`, sent as TargetAddress.
        address: String,
        /// True for 0102h, false for 0101h.
        permanently: bool,
    },
}

/// What stood at a LUN when a command came for it. The command is for that and for nothing else, whatever stands there when its data have arrived.
/// Means something to the directory and to the shell only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The logical unit; `None` when there was none.
    pub logical_unit: Option<u64>,
    /// When, on the directory's own scale.
    pub content_generation: u64,
}

/// Policy and facts the protocol needs from above. Calls must be quick: they run between two PDUs.
pub trait Directory {
    /// Targets that `initiator_name` may see, with the portals it can reach. Called for SendTargets.
    fn targets(&self, initiator_name: &str) -> Vec<TargetRecord>;

    /// Whether `initiator_name` may log in to `target_name`, or to discovery when `None`. Both names are normalized
    /// ([`names::normalize`](crate::names::normalize)). Called once for each login, before authentication.
    fn admit(&self, initiator_name: &str, target_name: Option<&str>) -> Result<Admission, Refusal>;

    /// The one form of a LUN by which tasks are compared: LUNs that name the same logical unit in different formats have the same.
    fn canonical_lun(&self, lun: [u8; 8]) -> [u8; 8] {
        lun
    }

    /// What stands at a LUN now. Called when a command comes.
    fn arrival(&self, _lun: [u8; 8]) -> Arrival {
        Arrival::default()
    }

    /// Bytes of Data-Out the device server wants for `cdb`, of the `expected` bytes the initiator is ready to send.
    ///
    /// Only that much is asked for and stored; what the initiator sends beyond it is taken and dropped. An answer above `expected`
    /// counts as `expected`. For a command that is going to fail without looking at its data the answer is 0.
    fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32;
}
