//! URLs of logical units on the command line:
//! `iscsi://[USER[%SECRET]@]HOST[:PORT]/TARGET/LUN[?KEY=VALUE&…]`, as in libiscsi.
//!
//! Keys: `target_user` and `target_password` for mutual CHAP, `header_digest=crc32c` and `data_digest=crc32c`.
//! Percent signs are taken literally, except that the first one in the user part ends the user's name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Port if the URL has none.
const DEFAULT_PORT: u16 = 3260;

/// User name and secret for CHAP.
#[derive(Clone, PartialEq, Eq)]
pub struct UserSecret {
    /// Name.
    pub user: String,
    /// Secret.
    pub secret: String,
}

impl fmt::Debug for UserSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserSecret").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Location of a logical unit behind a portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Target name.
    pub target: String,
    /// LUN, 0 to 16383.
    pub lun: u16,
    /// CHAP credentials of the initiator.
    pub chap: Option<UserSecret>,
    /// CHAP credentials of the target.
    pub target_chap: Option<UserSecret>,
    /// Offer HeaderDigest=CRC32C only.
    pub header_digest: bool,
    /// Offer DataDigest=CRC32C only.
    pub data_digest: bool,
}

impl Url {
    /// LUN as eight bytes: peripheral device addressing up to 255, flat space addressing above
    /// (SAM-5 §4.7).
    pub fn lun_bytes(&self) -> [u8; 8] {
        let [high, low] = self.lun.to_be_bytes();
        [if self.lun > 255 { 0x40 | high & 0x3F } else { 0 }, low, 0, 0, 0, 0, 0, 0]
    }

    /// Host and port, an IPv6 address in brackets.
    pub fn portal(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Whether both URLs are reached through one session.
    pub fn same_session(&self, other: &Url) -> bool {
        Url { lun: 0, ..self.clone() } == Url { lun: 0, ..other.clone() }
    }
}

/// Reason why a text is not a URL.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason} in {url:?}; expected iscsi://[USER[%SECRET]@]HOST[:PORT]/TARGET/LUN")]
pub struct UrlError {
    reason: &'static str,
    url: String,
}

/// Text of a possibly malformed URL without anything that may be a secret: the user's secret, and
/// everything after `?`.
pub fn without_secrets(text: &str) -> String {
    let (path, query) = text.split_once('?').map_or((text, ""), |(path, _)| (path, "?…"));
    let user = path.rsplit_once('@').map(|(user, rest)| match user.split_once('%') {
        Some((user, _)) => format!("{user}%…@{rest}"),
        None => path.to_owned(),
    });
    user.unwrap_or_else(|| path.to_owned()) + query
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let fail = |reason| UrlError { reason, url: without_secrets(text) };
        let rest = text.strip_prefix("iscsi://").ok_or_else(|| fail("no iscsi:// at the start"))?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let (path, lun) = path.rsplit_once('/').ok_or_else(|| fail("no LUN"))?;
        // A secret may contain a slash: the user part ends at the last @ before the target.
        let user_end =
            path.find("/iqn.").or_else(|| path.find("/eui.")).or_else(|| path.find("/naa.")).unwrap_or(path.len());
        let from = path.get(..user_end).and_then(|before| before.rfind('@')).unwrap_or(0);
        let slash = path.get(from..).and_then(|rest| rest.find('/')).ok_or_else(|| fail("no target"))?;
        let (authority, target) = path.split_at(from + slash);
        let target = target.strip_prefix('/').unwrap_or(target);
        let lun =
            lun.parse().ok().filter(|lun| *lun < 1 << 14).ok_or_else(|| fail("LUN is not a number up to 16383"))?;
        if target.is_empty() {
            return Err(fail("no target"));
        }
        let (user, portal) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let chap = user.map(|user| {
            let (user, secret) = user.split_once('%').unwrap_or((user, ""));
            UserSecret { user: user.to_owned(), secret: secret.to_owned() }
        });
        let (host, port) = match portal.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(|| fail("no ] after an IPv6 address"))?;
                (host, port.strip_prefix(':'))
            }
            None => portal.split_once(':').map_or((portal, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(fail("no host"));
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => port.parse().map_err(|_| fail("port is not a number up to 65535"))?,
        };
        let mut url = Url {
            host: host.to_owned(),
            port,
            target: target.to_owned(),
            lun,
            chap,
            target_chap: None,
            header_digest: false,
            data_digest: false,
        };
        let (mut target_user, mut target_secret) = (None, None);
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("target_user", value)) => target_user = Some(value.to_owned()),
                Some(("target_password", value)) => target_secret = Some(value.to_owned()),
                Some(("header_digest", "crc32c")) => url.header_digest = true,
                Some(("data_digest", "crc32c")) => url.data_digest = true,
                Some(("header_digest" | "data_digest", "none")) => {}
                _ => return Err(fail("unknown key or value after ?")),
            }
        }
        if let (Some(user), Some(secret)) = (target_user, target_secret) {
            url.target_chap = Some(UserSecret { user, secret });
        }
        Ok(url)
    }
}

impl fmt::Display for Url {
    /// Writes the URL without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iscsi://{}/{}/{}", self.portal(), self.target, self.lun)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn an_error_names_no_secret() {
        for text in [
            "iscsi://u%topsecret@h/iqn.x:t/99999",
            "iscsi://u%top/secret@h/iqn.x:t/x",
            "iscsi://h/iqn.x:t/0?target_user=t&target_password=topsecret&x=y",
            "iscs://u%topsecret@h/t/0",
        ] {
            let words = text.parse::<Url>().unwrap_err().to_string();
            assert!(!words.contains("secret@") && !words.contains("topsecret"), "{words}");
        }
    }

    #[test]
    fn parts() {
        let url: Url = "iscsi://esx01%a%b@array.example:3261/iqn.2026-01.org.example:t/7".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port, url.lun), ("array.example", 3261, 7));
        assert_eq!(url.target, "iqn.2026-01.org.example:t");
        assert_eq!(url.chap, Some(UserSecret { user: "esx01".into(), secret: "a%b".into() }));
        assert_eq!(url.to_string(), "iscsi://array.example:3261/iqn.2026-01.org.example:t/7");
        assert!(!format!("{url:?}").contains("a%b"));

        let url: Url =
            "iscsi://[::1]/iqn.x:t/300?target_user=u&target_password=p&header_digest=crc32c".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 3260));
        assert_eq!(url.lun_bytes(), [0x41, 0x2C, 0, 0, 0, 0, 0, 0]);
        assert_eq!(url.target_chap, Some(UserSecret { user: "u".into(), secret: "p".into() }));
        assert!(url.header_digest && !url.data_digest);
        let other: Url =
            "iscsi://[::1]/iqn.x:t/1?target_user=u&target_password=p&header_digest=crc32c".parse().unwrap();
        assert!(url.same_session(&other));
        assert_eq!(other.lun_bytes(), [0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn mistakes() {
        for bad in [
            "http://h/t/0",
            "iscsi://h",
            "iscsi://h/0",
            "iscsi://h//0",
            "iscsi:///t/0",
            "iscsi://h/t/x",
            "iscsi://h/t/16384",
            "iscsi://h:99999/t/0",
            "iscsi://[::1/t/0",
            "iscsi://h/t/0?color=red",
        ] {
            assert!(bad.parse::<Url>().is_err(), "{bad}");
        }
    }
}
