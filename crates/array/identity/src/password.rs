//! Passwords: which are accepted, and their hash (Argon2id, RFC 9106).

use crate::digest::{bytes, hexadecimal};
use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use subtle::ConstantTimeEq;
use thiserror::Error;

/// Least number of characters.
const MIN_PASSWORD_CHARACTERS: usize = 12;
/// Largest number of bytes.
const MAX_PASSWORD_BYTES: usize = 256;
/// Random bytes that a hash needs.
pub const SALT_BYTES: usize = 16;
/// Least number of different characters.
const MIN_DIFFERENT: usize = 5;
/// Memory of a hash in KiB.
const MEMORY_KIB: u32 = 19 << 10;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Passwords of at least 12 characters among the 30 000 that zxcvbn lists as the most common ones.
/// Shorter ones are refused anyway.
const COMMON: &str = include_str!("common-passwords.txt");

/// Reason for which a password is not accepted.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PasswordFault {
    /// Too few characters.
    #[error("a password has at least {MIN_PASSWORD_CHARACTERS} characters")]
    TooShort,
    /// Too many bytes.
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
    /// Few characters, repeated.
    #[error("a password has at least {MIN_DIFFERENT} different characters")]
    Monotonous,
    /// One of those that are tried first.
    #[error("the password is one of the most common ones")]
    Common,
    /// The name of the user.
    #[error("the password contains the name of the user")]
    ContainsName,
    /// The operating system has no memory for the hash.
    #[error("the password cannot be hashed")]
    NotHashed,
}

/// Checks a new password of a user.
pub(crate) fn check(password: &str, name: &str) -> Result<(), PasswordFault> {
    let lower = password.to_lowercase();
    if password.len() > MAX_PASSWORD_BYTES {
        Err(PasswordFault::TooLong)
    } else if password.chars().count() < MIN_PASSWORD_CHARACTERS {
        Err(PasswordFault::TooShort)
    } else if password.chars().collect::<BTreeSet<char>>().len() < MIN_DIFFERENT {
        Err(PasswordFault::Monotonous)
    } else if COMMON.lines().any(|common| common == lower) {
        Err(PasswordFault::Common)
    } else if name.len() >= 3 && lower.contains(&name.to_lowercase()) {
        Err(PasswordFault::ContainsName)
    } else {
        Ok(())
    }
}

/// Hash of a password, with its salt and costs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash {
    memory_kib: u32,
    passes: u32,
    salt: String,
    hash: String,
}

/// Never shows the hash.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(…)")
    }
}

impl PasswordHash {
    /// Checks a new password of the user `name`, and hashes it. Takes tens of milliseconds and 19 MiB.
    pub fn new(password: &str, name: &str, salt: [u8; SALT_BYTES]) -> Result<Self, PasswordFault> {
        check(password, name)?;
        Self::hash(password, salt)
    }

    /// Hash of a password that nobody has. Comparing with it takes as long as with that of a user.
    pub fn of_nobody(salt: [u8; SALT_BYTES]) -> Self {
        let (salt, hash) = (hexadecimal(&salt), String::new());
        Self { memory_kib: MEMORY_KIB, passes: PASSES, salt, hash }
    }

    fn hash(password: &str, salt: [u8; SALT_BYTES]) -> Result<Self, PasswordFault> {
        let hash = argon2id(password, &salt, MEMORY_KIB, PASSES).ok_or(PasswordFault::NotHashed)?;
        Ok(Self { memory_kib: MEMORY_KIB, passes: PASSES, salt: hexadecimal(&salt), hash: hexadecimal(&hash) })
    }

    /// Compares a password with the hash. Takes as long as making one, whatever the password.
    pub fn verify(&self, password: &str) -> bool {
        let Some(salt) = bytes::<SALT_BYTES>(&self.salt) else { return false };
        // A longer one was never accepted; its length is no reason to hash it.
        let presented = if password.len() <= MAX_PASSWORD_BYTES { password } else { "" };
        let hash = argon2id(presented, &salt, self.memory_kib, self.passes);
        match (hash, bytes::<32>(&self.hash)) {
            (Some(hash), Some(expected)) => hash.ct_eq(&expected).into(),
            _ => false,
        }
    }
}

fn argon2id(password: &str, salt: &[u8], memory_kib: u32, passes: u32) -> Option<[u8; 32]> {
    let parameters = Params::new(memory_kib, passes, 1, Some(32)).ok()?;
    let mut hash = [0; 32];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    argon2.hash_password_into(password.as_bytes(), salt, &mut hash).ok()?;
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easy_passwords_are_refused() {
        for (password, fault) in [
            ("elevenchars", PasswordFault::TooShort),
            ("ééééééééééé", PasswordFault::TooShort),
            ("abababababab", PasswordFault::Monotonous),
            ("1qaz2wsx3edc", PasswordFault::Common),
            ("1QAZ2wsx3EDC", PasswordFault::Common),
            ("hello-Anna-hello", PasswordFault::ContainsName),
        ] {
            assert_eq!(check(password, "anna"), Err(fault), "{password}");
        }
        assert_eq!(check(&"abcde".repeat(52), "anna"), Err(PasswordFault::TooLong));
        assert_eq!(check("correct horse battery", "anna"), Ok(()));
        assert!(COMMON.lines().count() > 200 && COMMON.lines().all(|line| line.len() >= 12 && !line.contains(' ')));
    }

    #[test]
    fn a_hash_knows_its_password_and_no_other() {
        let hash = PasswordHash::new("correct horse battery", "anna", [7; SALT_BYTES]).ok();
        let is = |password: &str| hash.as_ref().is_some_and(|hash| hash.verify(password));
        assert!(is("correct horse battery"));
        assert!(!is("correct horse batterz") && !is("") && !is(&"x".repeat(300)));
        let other = PasswordHash::new("correct horse battery", "anna", [8; SALT_BYTES]).ok();
        assert_ne!(hash, other, "the salt counts");
        assert!(!PasswordHash::of_nobody([1; SALT_BYTES]).verify(""));
        assert_eq!(format!("{:?}", PasswordHash::of_nobody([1; SALT_BYTES])), "PasswordHash(…)");
    }

    /// RFC 9106 has its test vector with a secret and associated data, which are not used here. This
    /// one is of the reference implementation's test suite.
    #[test]
    fn the_function_is_argon2id() {
        let hash = argon2id("password", b"somesalt", 65_536, 2).map(|hash| hexadecimal(&hash));
        assert_eq!(hash.as_deref(), Some("09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"));
    }
}
