//! The set-up code: who can read it may name the first administrator of an array.

use crate::digest::Digest;
use jiff::{SignedDuration, Timestamp};

/// Time for which a code is accepted.
const VALID: SignedDuration = SignedDuration::from_hours(1);
/// Wrong codes after which it is not accepted any more.
const MAX_FAILURES: u32 = 10;
/// Letters and digits that are not mistaken for each other.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz123456789";

/// Set-up code, of which the digest alone is kept, until an administrator exists.
#[derive(Clone, Debug)]
pub struct SetupCode {
    digest: Digest,
    expires: Timestamp,
    failures: u32,
}

impl SetupCode {
    /// Makes a code of 80 random bits. Returns it with its text: four groups of four characters.
    pub fn new(random: [u8; 16], now: Timestamp) -> (Self, String) {
        let letter = |byte: &u8| char::from(LETTERS.get(usize::from(byte % 32)).copied().unwrap_or(b'a'));
        let groups: Vec<String> = random.chunks(4).map(|group| group.iter().map(letter).collect()).collect();
        let text = groups.join("-");
        let expires = now.checked_add(VALID).unwrap_or(Timestamp::MAX);
        (Self { digest: Digest::of(text.as_bytes()), expires, failures: 0 }, text)
    }

    /// Compares a code. Ten wrong ones end it.
    pub fn verify(&mut self, code: &str, now: Timestamp) -> bool {
        let code = code.trim().to_ascii_lowercase();
        let fits = self.digest.matches(&Digest::of(code.as_bytes()));
        let is_live = now < self.expires && self.failures < MAX_FAILURES;
        if !fits {
            self.failures = self.failures.saturating_add(1);
        }
        fits && is_live
    }

    /// Time at which it ends.
    pub const fn expires(&self) -> Timestamp {
        self.expires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_accepted_for_an_hour_and_after_few_wrong_ones() {
        let now = Timestamp::from_second(1_800_000_000).unwrap_or_default();
        let later = |seconds| now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or_default();
        let (mut code, text) = SetupCode::new([5; 16], now);
        assert_eq!(text.len(), 19);
        assert!(code.verify(&text.to_uppercase(), now) && code.verify(&format!(" {text}\n"), later(3599)));
        assert!(!code.verify(&text, later(3600)) && !code.verify("aaaa", now));
        (0..9).for_each(|_| assert!(!code.verify("wrong", now)));
        assert!(!code.verify(&text, now), "ten wrong codes end it");
    }
}
