//! The pairing code: `WL1-ADDRESS-FINGERPRINT-SECRET`.
//!
//! FINGERPRINT is the first 128 bits of the SHA-256 of the inviter's certificate. SECRET is 4 letters that name the
//! invitation, 16 letters (80 bits) that are the secret, and 4 letters of a checksum over the whole code. A code with
//! a typo is thus told apart from one that was used or has expired, before anything is sent.

use crate::checksum::Crc32c;
use crate::pairing::base32;
use crate::pairing::fingerprint::{Fingerprint, SHORT_BYTES};
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use thiserror::Error;

/// Prefix with the version of the code.
const PREFIX: &str = "WL1-";
/// Letters of the checksum: 20 bits.
const CHECK_LETTERS: usize = 4;
/// Letters that name the invitation: 20 bits.
const HANDLE_LETTERS: usize = 4;
/// Bytes of the secret.
pub(super) const SECRET_BYTES: usize = 10;
/// Longest code that is read.
const MAX_CODE_BYTES: usize = 512;
/// Longest host of an address.
const MAX_HOST_BYTES: usize = 253;

/// Reason why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an address is HOST:PORT, with an IPv6 address in brackets")]
pub struct AddressError;

/// Host and port of an inviter. A host name, an IPv4 address, or an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// `HOST:PORT`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (host, port) = text.rsplit_once(':').ok_or(AddressError)?;
        let is_port = !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok();
        let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => {
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
                (1..=MAX_HOST_BYTES).contains(&host.len()) && host.bytes().all(is_letter) && !host.starts_with('-')
            }
        };
        match is_port && is_host {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(AddressError),
        }
    }
}

/// What names an invitation. Not secret: it is sent before the proof, so that a wrong proof counts for one invitation
/// alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub String);

/// Secret of an invitation, 80 bits. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(pub [u8; SECRET_BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret")
    }
}

/// Reason why a text is no pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    /// Another text, or the code of another release.
    #[error("this is no pairing code: one begins with {PREFIX} and has an address, a fingerprint and a secret")]
    Form,
    /// The address is none.
    #[error("the address in the pairing code is none: {0}")]
    Address(#[from] AddressError),
    /// A letter is wrong or missing. The code itself may be good.
    #[error("the pairing code has a typing error: compare it with the one that was printed")]
    Typo,
}

/// Pairing code. Who has it may pair with the inviter; `Debug` does not show the secret, `Display` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingCode {
    address: Address,
    fingerprint: [u8; SHORT_BYTES],
    handle: Handle,
    secret: Secret,
}

impl PairingCode {
    pub(super) fn new(address: Address, fingerprint: &Fingerprint, handle: Handle, secret: Secret) -> Self {
        Self { address, fingerprint: fingerprint.short(), handle, secret }
    }

    /// Address of the inviter.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Whether a certificate is that of the inviter.
    pub fn is_of(&self, certificate: &Fingerprint) -> bool {
        self.fingerprint == certificate.short()
    }

    pub(super) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(super) const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Checksum: 20 bits of the CRC-32C of all that the code says, whatever its case.
    fn check(&self) -> String {
        let Crc32c(crc) = Crc32c::of_parts(&[
            self.address.0.as_bytes(),
            &[0],
            &self.fingerprint,
            self.handle.0.as_bytes(),
            &self.secret.0,
        ]);
        base32::encode(&crc.to_be_bytes()).chars().take(CHECK_LETTERS).collect()
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fingerprint, secret) = (base32::encode(&self.fingerprint), base32::encode(&self.secret.0));
        write!(to, "{PREFIX}{}-{fingerprint}-{}{secret}{}", self.address.0, self.handle.0, self.check())
    }
}

impl FromStr for PairingCode {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let text = text.trim();
        if text.len() > MAX_CODE_BYTES || !text.is_ascii() {
            return Err(CodeError::Form);
        }
        let is_ours = |start: &&str| start.eq_ignore_ascii_case(PREFIX);
        let rest = text.get(..PREFIX.len()).filter(is_ours).and_then(|_| text.get(PREFIX.len()..));
        // The address may have hyphens.
        let parts = rest.and_then(|rest| rest.rsplit_once('-'));
        let parts = parts.and_then(|(rest, last)| Some((rest.rsplit_once('-')?, last)));
        let ((address, fingerprint), last) = parts.ok_or(CodeError::Form)?;
        let address = address.parse()?;
        let fingerprint = base32::decode(fingerprint).ok_or(CodeError::Typo)?;
        let (handle, rest) = last.split_at_checked(HANDLE_LETTERS).ok_or(CodeError::Typo)?;
        let end = rest.len().checked_sub(CHECK_LETTERS).ok_or(CodeError::Typo)?;
        let (secret, check) = rest.split_at_checked(end).ok_or(CodeError::Typo)?;
        let secret = Secret(base32::decode(secret).ok_or(CodeError::Typo)?);
        let code = Self { address, fingerprint, handle: Handle(normal(handle).ok_or(CodeError::Typo)?), secret };
        match normal(check) == Some(code.check()) {
            true => Ok(code),
            false => Err(CodeError::Typo),
        }
    }
}

/// Four letters as they are printed, whatever their case and look-alikes.
fn normal(letters: &str) -> Option<String> {
    // Four letters more make whole bytes.
    let bytes: [u8; 5] = base32::decode(&format!("{letters}0000"))?;
    Some(base32::encode(&bytes).chars().take(HANDLE_LETTERS).collect())
}

/// The name of an invitation from random bytes.
pub(super) fn handle(random: [u8; 3]) -> Handle {
    Handle(base32::encode(&random).chars().take(HANDLE_LETTERS).collect())
}
