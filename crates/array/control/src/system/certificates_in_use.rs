//! Certificates in use.

use jiff::Timestamp;
use std::cell::RefCell;

/// Use of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateUse {
    /// REST and console over TLS.
    Https,
    /// The channel with this name trusts it as an authority.
    Channel(String),
}

/// Certificate in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Use.
    pub of: CertificateUse,
    /// Time at which it ends.
    pub ends: Timestamp,
}

/// Certificates in use.
#[derive(Default)]
pub(crate) struct Certificates(pub(super) RefCell<Vec<Certificate>>);
