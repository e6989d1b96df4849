//! Wrong passwords and tokens: the wait that they cause, and how many there were lately.

use crate::network::network;
use identity::Delays;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Shortest time between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// Time over which refused sign-ins are counted.
const WINDOW: Duration = Duration::from_secs(600);
/// Refused sign-ins in that time that are an alarm.
const MANY: usize = 20;
/// Longest name that is kept.
const MAX_NAME: usize = 64;

/// Refused sign-ins since the last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// Number of them.
    pub count: u64,
    /// True if there were so many lately that it is an alarm.
    pub many: bool,
}

/// All failures of a while.
#[derive(Default)]
pub(super) struct Failures {
    addresses: Delays<IpAddr>,
    names: Delays<String>,
    recent: VecDeque<Instant>,
    unreported: u64,
    /// Address and name of the last one that was not reported.
    last: Option<(IpAddr, String)>,
    reported: Option<Instant>,
    /// True since there were so many that it was an alarm.
    alarm: bool,
}

impl Failures {
    /// Seconds for which tokens from an address have to wait.
    pub(super) fn wait_of_address(&self, from: IpAddr, now: Instant) -> Option<u64> {
        self.addresses.wait(&network(from), now)
    }

    /// Seconds for which a sign-in has to wait.
    pub(super) fn wait(&self, from: IpAddr, name: &str, now: Instant) -> Option<u64> {
        self.wait_of_address(from, now).max(self.names.wait(&key(name), now))
    }

    /// Notes a wrong token.
    pub(super) fn token_failed(&mut self, from: IpAddr, now: Instant) {
        self.addresses.failed(network(from), now);
    }

    /// Notes a refused sign-in. Returns a report once in a while.
    pub(super) fn sign_in_failed(&mut self, from: IpAddr, name: &str, now: Instant) -> Option<Report> {
        self.addresses.failed(network(from), now);
        self.names.failed(key(name), now);
        self.last = Some((from, key(name)));
        self.count(now)
    }

    /// Notes a wrong set-up code. Returns a report once in a while.
    pub(super) fn code_failed(&mut self, from: Option<IpAddr>, now: Instant) -> Option<Report> {
        if let Some(from) = from {
            self.addresses.failed(network(from), now);
        }
        self.count(now)
    }

    fn count(&mut self, now: Instant) -> Option<Report> {
        self.forget(now);
        self.recent.push_back(now);
        if self.recent.len() > MANY {
            self.recent.pop_front();
        }
        self.unreported = self.unreported.saturating_add(1);
        if self.reported.is_some_and(|last| now.saturating_duration_since(last) < REPORT_INTERVAL) {
            return None;
        }
        Some(self.report(now))
    }

    fn report(&mut self, now: Instant) -> Report {
        self.reported = Some(now);
        self.last = None;
        self.alarm = self.recent.len() >= MANY;
        Report { count: std::mem::take(&mut self.unreported), many: self.alarm }
    }

    /// Report of refused sign-ins that none followed, with the address and name of the last one.
    pub(super) fn take_unreported(&mut self, now: Instant) -> Option<(IpAddr, String, Report)> {
        if self.reported.is_some_and(|last| now.saturating_duration_since(last) < REPORT_INTERVAL) {
            return None;
        }
        let (from, name) = self.last.take()?;
        self.forget(now);
        Some((from, name, self.report(now)))
    }

    fn forget(&mut self, now: Instant) {
        while self.recent.front().is_some_and(|first| now.saturating_duration_since(*first) >= WINDOW) {
            self.recent.pop_front();
        }
    }

    /// True once after an alarm, when there were not many lately.
    pub(super) fn alarm_ends(&mut self, now: Instant) -> bool {
        self.forget(now);
        let ends = self.alarm && self.recent.len() < MANY;
        self.alarm &= !ends;
        ends
    }

    /// Notes a sign-in.
    pub(super) fn succeeded(&mut self, from: IpAddr, name: &str) {
        self.addresses.succeeded(&network(from));
        self.names.succeeded(&key(name));
    }
}

fn key(name: &str) -> String {
    name.chars().take(MAX_NAME).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    #[test]
    fn an_address_and_a_name_wait() {
        let mut failures = Failures::default();
        let now = Instant::now();
        let reports: Vec<_> = (0..6).map(|_| failures.sign_in_failed(address(1), "Anna", now)).collect();
        assert_eq!(reports.iter().flatten().count(), 1);
        assert_eq!(failures.wait(address(1), "otto", now), Some(2), "the address");
        assert_eq!(failures.wait(address(2), "anna", now), Some(2), "the name, whatever its case");
        assert_eq!(failures.wait(address(2), "otto", now), None);
        failures.succeeded(address(1), "ANNA");
        assert_eq!(failures.wait(address(1), "anna", now), None);
    }

    /// A burst that ended within ten seconds was one entry, and no alarm.
    #[test]
    fn the_end_of_a_burst_is_reported_later() {
        let mut failures = Failures::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(failures.take_unreported(at(0)), None);
        let reports = (0..25).filter_map(|_| failures.sign_in_failed(address(1), "Anna", at(0)));
        assert_eq!(reports.count(), 1);
        assert_eq!(failures.take_unreported(at(9)), None);
        let rest = (address(1), "anna".to_owned(), Report { count: 24, many: true });
        assert_eq!(failures.take_unreported(at(10)), Some(rest));
        assert_eq!(failures.take_unreported(at(30)), None);
    }

    #[test]
    fn twenty_in_ten_minutes_are_many_and_reports_are_rare() {
        let mut failures = Failures::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(failures.sign_in_failed(address(1), "a", at(0)), Some(Report { count: 1, many: false }));
        for _ in 0..18 {
            assert_eq!(failures.sign_in_failed(address(1), "a", at(1)), None);
        }
        assert_eq!(failures.sign_in_failed(address(1), "a", at(10)), Some(Report { count: 19, many: true }));
        assert!(!failures.alarm_ends(at(599)));
        assert!(failures.alarm_ends(at(600)) && !failures.alarm_ends(at(600)));
        assert_eq!(failures.sign_in_failed(address(1), "a", at(605)), Some(Report { count: 1, many: false }));
        assert!((0..10_000).all(|_| failures.sign_in_failed(address(1), "a", at(606)).is_none()));
        assert_eq!(failures.recent.len(), MANY);
    }
}
