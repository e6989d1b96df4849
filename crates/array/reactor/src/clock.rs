//! Clock of the reactor: the operating system's, or the virtual time of a simulation.

use control::Environment;
use std::rc::Rc;
use std::time::Instant;

/// Current instant. It follows the runtime's clock, so that a simulation can stop and advance it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Clock of units.
pub(super) struct UnitClock(pub Rc<dyn Environment>);

impl unit::Clock for UnitClock {
    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.0.monotonic().as_nanos()).unwrap_or(u64::MAX)
    }
    fn unix_ms(&self) -> u64 {
        u64::try_from(self.0.now().as_millisecond()).unwrap_or(0)
    }
}
