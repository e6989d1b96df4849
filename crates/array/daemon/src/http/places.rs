//! How many connections one listener of the management plane has, and how many of them one address may have: whoever opens connections and says
//! nothing must not keep everybody else out.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections served at once by one listener; more wait in its backlog.
const MAX_CONNECTIONS: usize = 64;
/// Connections that one address may have of them; one more is closed at once. A browser has six.
const MAX_OF_ADDRESS: usize = 16;

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// The places of a listener.
pub(super) struct Places {
    all: Arc<Semaphore>,
    by_address: Counts,
}

impl Default for Places {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_CONNECTIONS)), by_address: Arc::default() }
    }
}

/// A place; it is free again when this is dropped.
pub(super) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
    address: Option<(IpAddr, Counts)>,
}

impl Places {
    /// Waits until there is one.
    pub async fn free(&self) -> Place {
        // The semaphore is never closed.
        Place { _permit: Arc::clone(&self.all).acquire_owned().await.ok(), address: None }
    }

    /// Gives the place to an address; `None` when it has as many as it may have.
    pub fn give(&self, mut place: Place, address: IpAddr) -> Option<Place> {
        let address = network(address);
        let mut counts = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= MAX_OF_ADDRESS {
            return None;
        }
        *count += 1;
        place.address = Some((address, Arc::clone(&self.by_address)));
        Some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((address, counts)) = self.address.take() else { return };
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&address);
            }
        }
    }
}

/// What one person has: an IPv4 address or an IPv6 /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_CONNECTIONS, MAX_OF_ADDRESS, Places};
    use std::net::{IpAddr, Ipv4Addr};

    /// All places used to be for whoever came first: sixty-four silent connections from one machine kept administrators out.
    #[tokio::test]
    async fn one_address_cannot_take_every_place() {
        let places = Places::default();
        let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        let mut taken = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            taken.extend(places.give(places.free().await, address(1)));
        }
        assert_eq!(taken.len(), MAX_OF_ADDRESS);
        assert!(places.give(places.free().await, address(2)).is_some());
        taken.pop();
        let again = places.give(places.free().await, address(1));
        assert!(again.is_some());
        assert!(places.give(places.free().await, address(1)).is_none());
        drop((again, taken));
        assert!(places.by_address.lock().is_ok_and(|counts| counts.is_empty()));
        assert_eq!(places.all.available_permits(), MAX_CONNECTIONS);
    }
}
