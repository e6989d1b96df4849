//! A sign-in: a browser that has shown name and password, and has a cookie since.

use crate::digest::Digest;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// Time without a request after which a sign-in ends.
pub const IDLE: SignedDuration = SignedDuration::from_mins(30);
/// Time after which a sign-in ends.
pub const ABSOLUTE: SignedDuration = SignedDuration::from_hours(12);
/// Time after which the sign-in of a wall display ends; requests are not needed meanwhile.
pub const DISPLAY: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Sign-in, as stored. The cookie itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// Identity.
    pub id: Uuid,
    /// SHA-256 of the cookie.
    pub digest: Digest,
    /// Id of the user.
    pub user: Uuid,
    /// Address of the browser.
    pub from: IpAddr,
    /// What the browser calls itself, cut.
    pub agent: String,
    /// Start.
    pub since: Timestamp,
    /// Time of the last request.
    pub last_use: Timestamp,
    /// True for a wall display.
    pub display: bool,
}

impl SignIn {
    /// Time at which the sign-in ends if there is no further request.
    pub fn ends(&self) -> Timestamp {
        let after = |time: Timestamp, span| time.checked_add(span).unwrap_or(Timestamp::MAX);
        if self.display {
            after(self.since, DISPLAY)
        } else {
            after(self.since, ABSOLUTE).min(after(self.last_use, IDLE))
        }
    }

    /// True until the end. A clock that was set back does not prolong it beyond its whole length.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.ends()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_sign_in_ends_when_idle_and_at_the_latest_after_half_a_day() {
        let second = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap_or_default();
        let mut sign_in = SignIn {
            id: Uuid::nil(),
            digest: Digest::of(b"x"),
            user: Uuid::nil(),
            from: Ipv4Addr::LOCALHOST.into(),
            agent: String::new(),
            since: second(0),
            last_use: second(0),
            display: false,
        };
        assert!(sign_in.is_live(second(1799)) && !sign_in.is_live(second(1800)));
        sign_in.last_use = second(43_000);
        assert!(sign_in.is_live(second(43_199)) && !sign_in.is_live(second(43_200)));
        sign_in.display = true;
        assert!(sign_in.is_live(second(30 * 86_400 - 1)) && !sign_in.is_live(second(30 * 86_400)));
    }
}
