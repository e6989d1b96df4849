//! Bearer token of the TCP listener, and delays for wrong guesses.
//!
//! A token is 256 random bits; the array stores only its SHA-256. The first use of `--http`
//! generates one and stores it in `STATE_DIR/admin.token` for its owner. If
//! `STATE_DIR/admin.token.sha256` is deleted, the next start generates a new one.

use crate::network::network;
use anyhow::{Context, ensure};
use reactor::state_files::write_private;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// Name of the file with the token, in the state directory.
pub(crate) const FILE_NAME: &str = "admin.token";
/// Prefix of every token, so that searches find a leaked one.
const PREFIX: &str = "windlass_";
/// Wrong tokens from one address before it has to wait.
const FREE_FAILURES: u32 = 5;
/// Longest wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Time without a failure after which an address is dropped.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// Largest number of stored addresses; the one whose last failure is oldest is evicted.
const MAX_ADDRESSES: usize = 1024;

/// Reason why a request was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or a wrong one.
    Unauthorized,
    /// Too many wrong tokens from this address.
    Wait {
        /// Time until the next try.
        seconds: u64,
    },
}

/// Admits requests with the right token.
pub(crate) struct TokenGate {
    digest: [u8; 32],
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

struct Failures {
    count: u32,
    last: Instant,
    closed_until: Instant,
}

impl TokenGate {
    /// Reads the stored digest, or generates a token.
    pub(crate) fn open(state_dir: &Path) -> anyhow::Result<Self> {
        let digest_path = state_dir.join("admin.token.sha256");
        let digest = if digest_path.exists() {
            let text = std::fs::read_to_string(&digest_path)
                .with_context(|| format!("cannot read {}", digest_path.display()))?;
            parse_digest(text.trim()).with_context(|| {
                format!("{} is not a SHA-256 digest: delete it to have a new token made", digest_path.display())
            })?
        } else {
            let mut random = [0; 32];
            getrandom::fill(&mut random).context("the operating system gives no random bytes")?;
            let token = format!("{PREFIX}{}", hexadecimal(&random));
            let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            write_private(&state_dir.join(FILE_NAME), &format!("{token}\n"))?;
            write_private(&digest_path, &format!("{}\n", hexadecimal(&digest)))?;
            digest
        };
        Ok(Self { digest, failures: Mutex::default() })
    }

    /// Checks the value of an `Authorization` header of a request from an address.
    pub(crate) fn check(&self, authorization: Option<&str>, from: IpAddr, now: Instant) -> Result<(), Denied> {
        let from = network(from);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let token = authorization.and_then(bearer);
        // The right token is accepted during a wait, too: 256 random bits cannot be guessed, and an
        // administrator who shares an address with an attacker must not be locked out.
        if let Some(token) = token {
            let presented: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            if bool::from(presented.ct_eq(&self.digest)) {
                return Ok(());
            }
        }
        if let Some(entry) = failures.get(&from)
            && now < entry.closed_until
        {
            let left = entry.closed_until.duration_since(now);
            return Err(Denied::Wait { seconds: left.as_secs() + 1 });
        }
        if token.is_none() {
            return Err(Denied::Unauthorized);
        }
        failures.retain(|_, entry| now.duration_since(entry.last) < FORGET_AFTER);
        if failures.len() >= MAX_ADDRESSES
            && !failures.contains_key(&from)
            && let Some(oldest) = failures.iter().min_by_key(|(_, entry)| entry.last).map(|(address, _)| *address)
        {
            failures.remove(&oldest);
        }
        let entry = failures.entry(from).or_insert(Failures { count: 0, last: now, closed_until: now });
        entry.count = entry.count.saturating_add(1);
        entry.last = now;
        if entry.count > FREE_FAILURES {
            let doublings = (entry.count - FREE_FAILURES - 1).min(6);
            entry.closed_until = now + Duration::from_secs(1 << doublings).min(MAX_WAIT);
        }
        Err(Denied::Unauthorized)
    }
}

/// Token of an `Authorization` header (RFC 6750 §2.1).
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn parse_digest(text: &str) -> anyhow::Result<[u8; 32]> {
    ensure!(text.len() == 64 && text.is_ascii(), "it has {} characters", text.len());
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2).unwrap_or_default(), 16)?;
    }
    Ok(digest)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{Denied, MAX_ADDRESSES, TokenGate};
    use crate::memory::TemporaryDirectory;
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::{Duration, Instant};

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    #[test]
    fn the_token_made_at_the_first_start_works_after_the_second() {
        let directory = TemporaryDirectory::new();
        TokenGate::open(directory.path()).unwrap();
        let token = std::fs::read_to_string(directory.path().join("admin.token")).unwrap();
        assert_eq!(token.trim().len(), "windlass_".len() + 64);
        let gate = TokenGate::open(directory.path()).unwrap();
        let now = Instant::now();
        assert_eq!(gate.check(Some(&format!("Bearer {}", token.trim())), PEER, now), Ok(()));
        for wrong in [None, Some(""), Some("Bearer"), Some("Bearer x"), Some("Basic eDp5"), Some(token.trim())] {
            assert_eq!(gate.check(wrong, PEER, now), Err(Denied::Unauthorized), "{wrong:?}");
        }
    }

    #[test]
    fn guessing_gets_slower_and_does_not_slow_others() {
        let directory = TemporaryDirectory::new();
        let gate = TokenGate::open(directory.path()).unwrap();
        let mut now = Instant::now();
        for _ in 0..6 {
            assert_eq!(gate.check(Some("Bearer guess"), PEER, now), Err(Denied::Unauthorized));
        }
        assert_eq!(gate.check(Some("Bearer guess"), PEER, now), Err(Denied::Wait { seconds: 2 }));
        now += Duration::from_secs(1);
        assert_eq!(gate.check(Some("Bearer guess"), PEER, now), Err(Denied::Unauthorized));
        assert_eq!(gate.check(Some("Bearer guess"), PEER, now), Err(Denied::Wait { seconds: 3 }));
        let token = std::fs::read_to_string(directory.path().join("admin.token")).unwrap();
        let right = format!("Bearer {}", token.trim());
        assert_eq!(gate.check(Some(&right), PEER, now), Ok(()), "an administrator behind the same address");
        assert_eq!(gate.check(Some("Bearer guess"), PEER, now), Err(Denied::Wait { seconds: 3 }));
        let other = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
        assert_eq!(gate.check(Some("Bearer guess"), other, now), Err(Denied::Unauthorized));
        now += Duration::from_secs(700);
        assert_eq!(gate.check(Some("Bearer guess"), other, now), Err(Denied::Unauthorized));
        assert_eq!(gate.failures.lock().unwrap().len(), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let directory = TemporaryDirectory::new();
        let gate = TokenGate::open(directory.path()).unwrap();
        let now = Instant::now();
        for number in 0..3000_u32 {
            let _denied = gate.check(Some("Bearer guess"), IpAddr::V4(Ipv4Addr::from_bits(number)), now);
        }
        assert_eq!(gate.failures.lock().unwrap().len(), MAX_ADDRESSES);
    }
}
