//! Interface from units to the protocols that serve them.

use crate::registrant::Registrant;
use crate::reservations::Notice;
use block::VolumeId;
use std::future::Future;
use std::pin::Pin;

/// Protocol that serves units. What a client of one protocol does to a unit reaches the clients of
/// every other protocol through it.
pub trait Adapter {
    /// Reports a change of reservations to a registrant, if it is a client of this protocol.
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice);

    /// Ends all other access to the content that the volume had, because the content is being made
    /// unreadable.
    fn content_discarded(&self, volume: VolumeId);

    /// Aborts all commands of these registrants on a volume, without a response. Ready when none of
    /// them can have any further effect. Registrants of other protocols are ignored.
    fn abort(&self, volume: VolumeId, registrants: &[Registrant]) -> Pin<Box<dyn Future<Output = ()>>>;
}
