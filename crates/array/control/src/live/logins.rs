//! The last login attempts, in bounded memory, whatever peers send.
//!
//! Equal attempts are one row with a count. There are at most [`MOST`] rows. Rows of hosts that the array knows do not
//! make room for names that it does not know; among those, the address with the most rows makes room. An address with
//! many names thus evicts its own.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Largest number of rows.
pub const MOST: usize = 1024;
/// Largest number of rows of known hosts.
const MOST_KNOWN: usize = 768;
/// Largest number of rows of one initiator name.
const MOST_OF_NAME: usize = 32;
/// Longest part of a claimed name that is kept, in bytes: that of a valid name (RFC 7143 §4.2.7.1).
const MAX_NAME_BYTES: usize = 223;

/// How a login attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoginOutcome {
    /// The session opened; in a discovery session, targets were shown.
    Ok,
    /// No host has the name, and no volume is open to every initiator.
    UnknownInitiator,
    /// CHAP failed, or was not offered although the host has to authenticate.
    ChapFailed,
    /// The session opened, and no volume is granted to the host.
    NotGranted,
    /// Too many sessions are open.
    Full,
    /// The portal redirects logins.
    Redirected,
    /// The array has no target of the requested name.
    UnknownTarget,
    /// Any other reason; the detail has it.
    Protocol,
}

/// Login attempts that differ in their times alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginAttempt {
    /// Number of the last of them; later attempts have larger ones.
    pub sequence: u64,
    /// Time of the first of them.
    pub first: Timestamp,
    /// Time of the last of them.
    pub time: Timestamp,
    /// Number of attempts.
    pub count: u64,
    /// The attempt.
    pub knock: Knock,
}

/// A login attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Knock {
    /// Claimed initiator name, in lower case. It proves nothing unless the outcome is a success with CHAP.
    pub initiator: String,
    /// Remote address.
    pub from: IpAddr,
    /// Portal.
    pub portal: SocketAddr,
    /// True for a discovery session.
    pub discovery: bool,
    /// How it ended.
    pub outcome: LoginOutcome,
    /// Reason, for people.
    pub detail: &'static str,
}

impl Knock {
    /// The same attempt with a name of bounded length, in the form in which names are compared.
    fn bounded(mut self) -> Self {
        let mut end = self.initiator.len().min(MAX_NAME_BYTES);
        while !self.initiator.is_char_boundary(end) {
            end -= 1;
        }
        self.initiator.truncate(end);
        self.initiator.make_ascii_lowercase();
        self
    }
}

/// The last login attempts.
#[derive(Debug, Default)]
pub struct LoginAttempts {
    /// Rows by the number of their last attempt.
    rows: BTreeMap<u64, Arc<LoginAttempt>>,
    /// Numbers of rows by what their attempts have in common.
    numbers: HashMap<Knock, u64>,
    /// Numbers of the rows of each name.
    names: BTreeMap<String, BTreeSet<u64>>,
    /// Numbers of the rows of unknown names of each machine.
    strangers: BTreeMap<IpAddr, BTreeSet<u64>>,
    /// Numbers of the rows of known hosts.
    known: BTreeSet<u64>,
    last: u64,
    /// True if there is an attempt since [`Self::take_changed`].
    changed: bool,
}

impl LoginAttempts {
    /// Adds an attempt. `is_known`: its name is that of a host of the array.
    pub fn add(&mut self, knock: Knock, is_known: bool, now: Timestamp) {
        let knock = knock.bounded();
        self.last += 1;
        self.changed = true;
        let same = self.numbers.get(&knock).copied().and_then(|number| self.remove(number));
        let (first, count) = match same {
            Some(row) => (row.first, row.count.saturating_add(1)),
            None => {
                self.make_room(&knock, is_known);
                (now, 1)
            }
        };
        let number = self.last;
        self.numbers.insert(knock.clone(), number);
        self.names.entry(knock.initiator.clone()).or_default().insert(number);
        let group = if is_known { &mut self.known } else { self.strangers.entry(place(knock.from)).or_default() };
        group.insert(number);
        let attempt = Arc::new(LoginAttempt { sequence: number, first, time: now, count, knock });
        self.rows.insert(number, attempt);
    }

    /// Removes a row from everywhere.
    fn remove(&mut self, number: u64) -> Option<Arc<LoginAttempt>> {
        let row = self.rows.remove(&number)?;
        let Knock { initiator, from, .. } = &row.knock;
        self.numbers.remove(&row.knock);
        forget(&mut self.names, initiator, number);
        self.known.remove(&number);
        forget(&mut self.strangers, &place(*from), number);
        Some(row)
    }

    /// Removes the rows that a new one displaces.
    fn make_room(&mut self, knock: &Knock, is_known: bool) {
        let of_name = self.names.get(&knock.initiator).filter(|rows| rows.len() >= MOST_OF_NAME);
        let mut oldest = of_name.and_then(|rows| rows.first().copied());
        if oldest.is_none() && is_known && self.known.len() >= MOST_KNOWN {
            oldest = self.known.first().copied();
        }
        if oldest.is_none() && self.rows.len() >= MOST {
            let most = self.strangers.values().max_by_key(|rows| rows.len());
            oldest = most.unwrap_or(&self.known).first().copied();
        }
        oldest.and_then(|oldest| self.remove(oldest));
    }

    /// All rows, oldest first.
    pub fn all(&self) -> Vec<Arc<LoginAttempt>> {
        self.rows.values().cloned().collect()
    }

    /// All rows, oldest first, if there is an attempt since the last call.
    pub fn take_changed(&mut self) -> Option<Vec<Arc<LoginAttempt>>> {
        std::mem::take(&mut self.changed).then(|| self.all())
    }
}

/// Removes a number from a group, and the group with its last number.
fn forget<K: Ord>(groups: &mut BTreeMap<K, BTreeSet<u64>>, of: &K, number: u64) {
    if let Some(group) = groups.get_mut(of) {
        group.remove(&number);
        if group.is_empty() {
            groups.remove(of);
        }
    }
}

/// Address of one machine: of IPv6 the network, in which it can choose any address.
fn place(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knock(initiator: &str, from: [u8; 4]) -> Knock {
        Knock {
            initiator: initiator.to_owned(),
            from: from.into(),
            portal: SocketAddr::from(([10, 0, 0, 50], 3260)),
            discovery: false,
            outcome: LoginOutcome::UnknownInitiator,
            detail: "not known",
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap_or_default()
    }

    #[test]
    fn equal_attempts_are_one_row_with_a_count_and_both_times() {
        let mut attempts = LoginAttempts::default();
        attempts.add(knock("iqn.x:a", [10, 0, 0, 1]), false, at(1));
        attempts.add(knock("iqn.x:b", [10, 0, 0, 1]), false, at(2));
        attempts.add(knock("IQN.X:A", [10, 0, 0, 1]), false, at(3));
        let rows = attempts.take_changed().unwrap_or_default();
        let told: Vec<_> =
            rows.iter().map(|row| (row.knock.initiator.as_str(), row.count, row.first, row.time)).collect();
        assert_eq!(told, [("iqn.x:b", 1, at(2), at(2)), ("iqn.x:a", 2, at(1), at(3))]);
        assert_eq!(attempts.take_changed(), None, "nothing since");
    }

    /// A machine that tries names without end evicts neither rows of known hosts nor those of other machines, and the
    /// memory is bounded.
    #[test]
    fn a_flood_of_names_evicts_its_own_rows() {
        let mut attempts = LoginAttempts::default();
        for host in 0..100 {
            attempts.add(knock(&format!("iqn.x:host{host}"), [10, 0, 1, 1]), true, at(1));
        }
        attempts.add(knock("iqn.x:new", [10, 0, 0, 2]), false, at(2));
        for name in 0..100_000 {
            let long = format!("iqn.evil:{name}{}", "x".repeat(1000));
            attempts.add(knock(&long, [10, 0, 0, 3]), false, at(3));
        }
        let rows = attempts.all();
        assert_eq!(rows.len(), MOST);
        let has = |start: &str| rows.iter().filter(|row| row.knock.initiator.starts_with(start)).count();
        assert_eq!((has("iqn.x:host"), has("iqn.x:new")), (100, 1));
        let bytes: usize = rows.iter().map(|row| size_of::<LoginAttempt>() + row.knock.initiator.len()).sum();
        assert!(bytes <= MOST * 512, "{bytes}");
        assert!(rows.iter().any(|row| row.knock.initiator.starts_with("iqn.evil:99999x")), "the newest is there");
    }

    /// The name of a known host can be claimed from anywhere.
    #[test]
    fn a_flood_under_the_name_of_a_host_evicts_rows_of_that_name_alone() {
        let mut attempts = LoginAttempts::default();
        attempts.add(knock("iqn.x:other", [10, 0, 0, 1]), true, at(1));
        for from in 0..2000_u16 {
            let [high, low] = from.to_be_bytes();
            attempts.add(knock("iqn.x:host", [10, 1, high, low]), true, at(2));
        }
        assert_eq!(attempts.all().len(), 1 + MOST_OF_NAME);
        for host in 0..2000 {
            attempts.add(knock(&format!("iqn.x:{host}"), [10, 0, 0, 9]), true, at(3));
        }
        assert_eq!(attempts.all().len(), MOST_KNOWN);
    }
}
