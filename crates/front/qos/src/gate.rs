//! Gate: lets amounts pass at a rate. As the generic cell rate algorithm (ITU-T I.371), it keeps one instant: when
//! everything that has passed will be paid for. Bursts are a tolerance before that instant.

use crate::limits::Rate;
use std::time::Duration;

/// Nanoseconds since the regulator began.
pub(crate) type Nanoseconds = u64;

/// Time for which a rate without burst may be used up at once. A limit of a second's exactness needs it to be
/// short; with much less, each command would wait for a timer of its own.
const TOLERANCE: Duration = Duration::from_millis(50);
/// Most time for which costs that are known only afterwards keep a gate closed. What is more is given for free, so that
/// a host does not give up its next command.
pub(crate) const MAX_DEBT: Duration = Duration::from_secs(5);

/// Gate of one rate without burst.
#[derive(Clone, Copy, Debug)]
struct Meter {
    per_second: u64,
    tolerance: Nanoseconds,
    paid_at: Nanoseconds,
    /// What [`Self::paid_at`] would be without costs that were known only afterwards.
    commands_paid_at: Nanoseconds,
}

pub(crate) fn nanoseconds(duration: Duration) -> Nanoseconds {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Meter {
    fn new(per_second: u64, tolerance: Nanoseconds) -> Self {
        Self { per_second, tolerance, paid_at: 0, commands_paid_at: 0 }
    }

    /// Instant from which an amount may pass.
    fn opens(&self) -> Nanoseconds {
        self.paid_at.saturating_sub(self.tolerance)
    }

    /// Instant from which an amount could pass without costs that were known only afterwards.
    fn opens_for_commands(&self) -> Nanoseconds {
        self.commands_paid_at.saturating_sub(self.tolerance)
    }

    fn take(&mut self, now: Nanoseconds, amount: u64) {
        let lasts = self.lasts(amount);
        self.paid_at = self.paid_at.max(now).saturating_add(lasts);
        self.commands_paid_at = self.commands_paid_at.max(now).saturating_add(lasts);
    }

    fn charge(&mut self, now: Nanoseconds, amount: u64) {
        let commands = self.commands_paid_at.max(now.saturating_add(self.tolerance));
        let most = commands.saturating_add(nanoseconds(MAX_DEBT));
        let paid_at = self.paid_at.max(now).saturating_add(self.lasts(amount));
        self.paid_at = paid_at.min(most.max(self.paid_at));
    }

    /// Time for which an amount lasts.
    fn lasts(&self, amount: u64) -> Nanoseconds {
        let lasts = u128::from(amount) * 1_000_000_000 / u128::from(self.per_second.max(1));
        u64::try_from(lasts).unwrap_or(u64::MAX)
    }

    /// Takes over what another meter has let pass and is not paid for.
    fn take_over(&mut self, now: Nanoseconds, other: &Self) {
        let owed = other.paid_at.saturating_sub(now);
        let amount = u128::from(owed) * u128::from(other.per_second) / 1_000_000_000;
        (self.paid_at, self.commands_paid_at) = (now, now);
        self.charge(now, u64::try_from(amount).unwrap_or(u64::MAX));
    }
}

/// Gate of one limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    lasting: Meter,
    /// Rate of a burst.
    burst: Option<Meter>,
}

impl Gate {
    /// A gate that nothing has passed.
    pub fn new(rate: Rate) -> Self {
        let short = nanoseconds(TOLERANCE);
        let Some(burst) = rate.burst else {
            return Self { lasting: Meter::new(rate.per_second, short), burst: None };
        };
        // What a whole burst lets pass above the limit, as time in which the limit pays for it.
        let above = u128::from(burst.per_second - rate.per_second.min(burst.per_second)) * burst.lasts.as_nanos();
        let tolerance = u64::try_from(above / u128::from(rate.per_second.max(1))).unwrap_or(u64::MAX / 4);
        let lasting = Meter::new(rate.per_second, tolerance.clamp(short, u64::MAX / 4));
        Self { lasting, burst: Some(Meter::new(burst.per_second, short)) }
    }

    /// A gate of another rate that has let pass what this one has: a change of limits starts no new burst.
    pub fn changed(&self, now: Nanoseconds, rate: Rate) -> Self {
        let mut gate = Self::new(rate);
        gate.lasting.take_over(now, &self.lasting);
        gate
    }

    /// Instant from which the next command may pass. One that is open lets a command of any amount pass, which then has
    /// to be paid for.
    pub fn opens(&self) -> Nanoseconds {
        self.burst.map_or(0, |burst| burst.opens()).max(self.lasting.opens())
    }

    /// [`Self::opens`] without costs that were known only afterwards.
    pub fn opens_for_commands(&self) -> Nanoseconds {
        self.burst.map_or(0, |burst| burst.opens_for_commands()).max(self.lasting.opens_for_commands())
    }

    /// Adds a cost that is known only afterwards.
    pub fn charge(&mut self, now: Nanoseconds, amount: u64) {
        self.lasting.charge(now, amount);
        if let Some(burst) = &mut self.burst {
            burst.charge(now, amount);
        }
    }

    /// Lets an amount pass.
    pub fn take(&mut self, now: Nanoseconds, amount: u64) {
        self.lasting.take(now, amount);
        if let Some(burst) = &mut self.burst {
            burst.take(now, amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Burst;

    const SECOND: Nanoseconds = 1_000_000_000;

    /// Amount that passes from one instant to another, in steps of `step`, with all that may pass at once.
    fn passes(gate: &mut Gate, from: Nanoseconds, until: Nanoseconds, step: u64) -> u64 {
        let (mut now, mut amount) = (from, 0);
        loop {
            now = now.max(gate.opens());
            if now >= until {
                return amount;
            }
            gate.take(now, step);
            amount += step;
        }
    }

    fn is_within(amount: u64, of: u64, percent: u64) -> bool {
        amount.abs_diff(of) * 100 <= of * percent
    }

    #[test]
    fn a_rate_is_held_within_three_percent_of_ten_seconds_and_ten_of_one() {
        for (rate, step) in [(100, 1), (2000, 1), (50_000, 1), (100 << 20, 4096), (1 << 30, 1 << 20)] {
            let mut gate = Gate::new(Rate { per_second: rate, burst: None });
            let second = passes(&mut gate, 0, SECOND, step);
            assert!(is_within(second, rate, 10), "{second} of {rate}");
            let rest = passes(&mut gate, SECOND, 10 * SECOND, step);
            assert!(is_within(second + rest, 10 * rate, 3), "{} of {}", second + rest, 10 * rate);
        }
    }

    #[test]
    fn a_burst_lasts_for_its_time_and_is_saved_up_again() {
        let burst = Burst { per_second: 10_000, lasts: Duration::from_secs(30) };
        let mut gate = Gate::new(Rate { per_second: 2000, burst: Some(burst) });
        assert!(is_within(passes(&mut gate, 0, 30 * SECOND, 1), 300_000, 1));
        assert!(is_within(passes(&mut gate, 31 * SECOND, 41 * SECOND, 1), 22_000, 3));
        // 120 seconds without use pay for a whole burst.
        let later = 161 * SECOND;
        assert!(is_within(passes(&mut gate, later, later + 10 * SECOND, 1), 100_000, 1));
        assert!(is_within(
            passes(&mut gate, later + 10 * SECOND, later + 60 * SECOND, 1),
            240_000 + 60_000 - 100_000 + 40_000,
            10
        ));
    }

    #[test]
    fn a_change_of_limits_starts_no_new_burst() {
        let burst = Burst { per_second: 10_000, lasts: Duration::from_secs(30) };
        let rate = Rate { per_second: 2000, burst: Some(burst) };
        let mut gate = Gate::new(rate);
        passes(&mut gate, 0, 30 * SECOND, 1);
        let mut gate = gate.changed(30 * SECOND, Rate { per_second: 1000, ..rate });
        let amount = passes(&mut gate, 30 * SECOND, 40 * SECOND, 1);
        assert!(amount <= 45_000, "{amount}");
    }

    #[test]
    fn a_cost_that_is_known_afterwards_closes_the_gate_for_a_bounded_time() {
        let mut gate = Gate::new(Rate { per_second: 100, burst: None });
        gate.charge(0, 200);
        assert_eq!(gate.opens(), 2 * SECOND - 50_000_000);
        gate.charge(0, u64::MAX);
        assert_eq!(gate.opens(), 5 * SECOND);
        gate.charge(0, u64::MAX);
        assert_eq!(gate.opens(), 5 * SECOND);
    }

    #[test]
    fn a_large_command_is_paid_for_wholly_and_debts_come_on_top_of_it() {
        let mut gate = Gate::new(Rate { per_second: 100, burst: None });
        gate.take(0, 1024);
        assert_eq!(gate.opens(), 10 * SECOND + 190_000_000);
        gate.charge(0, u64::MAX);
        assert_eq!(gate.opens(), 15 * SECOND + 190_000_000);
        assert_eq!(gate.opens_for_commands(), 10 * SECOND + 190_000_000);
    }
}
