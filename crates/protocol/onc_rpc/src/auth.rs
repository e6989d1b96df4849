//! Credentials and verifiers, RFC 5531 §8.2 and §10: AUTH_NONE, AUTH_SYS (appendix A), and the
//! probe of RPC-with-TLS (RFC 9289 §4.1).
//!
//! Other flavors, RPCSEC_GSS and AUTH_SHORT among them, are refused with `AUTH_BADCRED`, as Linux
//! does.

use xdr::{Array, Opaque, Reader, Xdr, types};

/// Longest credential or verifier (RFC 5531 §8.2).
pub const MAX_AUTH_BYTES: u32 = 400;
/// Most supplementary groups of AUTH_SYS (RFC 5531 appendix A).
pub const MAX_GROUPS: u32 = 16;
/// Longest machine name of AUTH_SYS (RFC 5531 appendix A).
pub const MAX_MACHINE_NAME_BYTES: u32 = 255;
/// Verifier of a server that offers TLS (RFC 9289 §4.1).
const STARTTLS: &str = "STARTTLS";

types! {
    /// Kinds of credentials and verifiers (RFC 5531 §8.2, RFC 2203, RFC 9289).
    codes Flavor {
        /// No authentication.
        NONE = 0,
        /// User and groups as numbers, not proved.
        SYS = 1,
        /// Short form of another credential.
        SHORT = 2,
        /// Diffie-Hellman.
        DH = 3,
        /// GSS-API (RFC 2203).
        RPCSEC_GSS = 6,
        /// Probe for TLS (RFC 9289).
        TLS = 7,
    }

    /// Credential or verifier, not interpreted: `opaque_auth` (RFC 5531 §8.2).
    struct OpaqueAuth {
        /// Kind.
        flavor: Flavor,
        /// Content, at most 400 bytes.
        body: Opaque<MAX_AUTH_BYTES>,
    }

    /// Content of an AUTH_SYS credential: `authsys_parms` (RFC 5531 appendix A).
    struct AuthSys {
        /// Number that the client chose.
        stamp: u32,
        /// Name of the client's machine; any bytes.
        machine_name: Opaque<MAX_MACHINE_NAME_BYTES>,
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
        /// Supplementary groups.
        gids: Array<u32, MAX_GROUPS>,
    }

    /// Why authentication failed: `auth_stat` (RFC 5531 §9).
    codes AuthStat {
        /// Success.
        OK = 0,
        /// Bad credential.
        BADCRED = 1,
        /// The client must begin a new session.
        REJECTEDCRED = 2,
        /// Bad verifier.
        BADVERF = 3,
        /// Verifier expired or replayed.
        REJECTEDVERF = 4,
        /// The flavor is too weak.
        TOOWEAK = 5,
        /// The response's verifier is bad (detected by clients).
        INVALIDRESP = 6,
        /// Unknown reason.
        FAILED = 7,
        /// No credential for the user (RPCSEC_GSS).
        RPCSEC_GSS_CREDPROBLEM = 13,
        /// Problem with the context (RPCSEC_GSS).
        RPCSEC_GSS_CTXPROBLEM = 14,
    }
}

impl OpaqueAuth {
    /// AUTH_NONE without content.
    pub fn none() -> Self {
        Self { flavor: Flavor::NONE, body: Opaque::default() }
    }

    /// The credential of a probe for TLS (RFC 9289 §4.1).
    pub fn tls() -> Self {
        Self { flavor: Flavor::TLS, body: Opaque::default() }
    }

    /// AUTH_SYS.
    pub fn sys(content: &AuthSys) -> Self {
        let mut writer = xdr::Writer::default();
        content.encode(&mut writer);
        Self { flavor: Flavor::SYS, body: writer.into_bytes().into() }
    }

    /// Verifier of the reply to a probe for TLS: whether the server offers it (RFC 9289 §4.1).
    pub fn tls_answer(offered: bool) -> Self {
        if offered { Self { flavor: Flavor::NONE, body: STARTTLS.into() } } else { Self::none() }
    }

    /// Whether this verifier of a reply to a probe offers TLS.
    pub fn offers_tls(&self) -> bool {
        self.flavor == Flavor::NONE && *self.body == *STARTTLS.as_bytes()
    }

    fn is_empty_none(&self) -> bool {
        self.flavor == Flavor::NONE && self.body.is_empty()
    }
}

/// Caller, after the checks of [`authenticate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// AUTH_NONE.
    None,
    /// AUTH_SYS.
    Sys(AuthSys),
    /// Probe for TLS: a NULL call, to be answered with [`OpaqueAuth::tls_answer`].
    TlsProbe,
}

/// Checks credential and verifier of a call of a procedure.
///
/// * `AUTH_BADCRED`: unknown flavor, content that is not of the flavor or has bytes after it, more
///   than 16 groups, a machine name above 255 bytes, or a probe for TLS in a procedure other than
///   NULL.
/// * `AUTH_BADVERF`: the verifier is not an empty AUTH_NONE, which all accepted flavors want.
pub fn authenticate(credential: &OpaqueAuth, verifier: &OpaqueAuth, procedure: u32) -> Result<Credential, AuthStat> {
    let accepted = match credential.flavor {
        Flavor::NONE if credential.body.is_empty() => Credential::None,
        Flavor::SYS => Credential::Sys(auth_sys(&credential.body)?),
        Flavor::TLS if credential.body.is_empty() && procedure == 0 => Credential::TlsProbe,
        _ => return Err(AuthStat::BADCRED),
    };
    if verifier.is_empty_none() { Ok(accepted) } else { Err(AuthStat::BADVERF) }
}

fn auth_sys(body: &Opaque<MAX_AUTH_BYTES>) -> Result<AuthSys, AuthStat> {
    let mut reader = Reader::new(body.as_bytes().clone());
    let content = AuthSys::decode(&mut reader);
    content.and_then(|content| reader.finish().map(|()| content)).map_err(|_| AuthStat::BADCRED)
}
