//! Channels: their record, and the rules of their settings.

use crate::condition::Condition;
use crate::error::ChannelError;
use api::{
    ChannelOutcome, ChannelSet, ChannelSettings, EmailSettings, MailTls, QuietHours, Severity, SyslogSettings,
    WebhookSettings,
};
use hyper::Uri;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lettre::message::Mailbox;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Largest number of receivers of e-mail.
const MAX_RECEIVERS: usize = 16;
/// Largest number of codes.
const MAX_CODES: usize = 64;
/// Longest code in bytes.
const MAX_CODE_BYTES: usize = 64;
/// Longest text of a setting in bytes.
const MAX_TEXT_BYTES: usize = 1024;
/// Longest text of certificates in bytes.
const MAX_CA_BYTES: usize = 32 << 10;

/// Stored channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRecord {
    /// Identity.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// False: nothing is sent.
    pub enabled: bool,
    /// Lowest severity.
    pub min_severity: Severity,
    /// Codes; empty: all.
    pub codes: Vec<String>,
    /// Quiet hours.
    pub quiet_hours: Option<QuietHours>,
    /// Kind and settings, with secrets.
    pub settings: ChannelSettings,
    /// Number of changes by administrators.
    pub revision: u64,
    /// True: the last message could not be sent in three tries.
    pub failing: bool,
    /// Result of the last try or test.
    pub last: Option<ChannelOutcome>,
    /// Time of creation.
    pub created: Timestamp,
}

/// Channel to be created.
#[derive(Clone, Debug)]
pub struct NewChannel {
    /// Identity, new.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Settings.
    pub settings: ChannelSettings,
    /// Lowest severity.
    pub min_severity: Severity,
    /// Codes; empty: all.
    pub codes: Vec<String>,
    /// Quiet hours.
    pub quiet_hours: Option<QuietHours>,
    /// False: nothing is sent yet.
    pub enabled: bool,
}

impl ChannelRecord {
    /// Checks a new channel.
    pub(crate) fn new(new: NewChannel, now: Timestamp) -> Result<Self, ChannelError> {
        let NewChannel { id, name, settings, min_severity, codes, quiet_hours, enabled } = new;
        let settings = with_secret_of(None, settings)?;
        let record = Self {
            id,
            name,
            enabled,
            min_severity,
            codes,
            quiet_hours: quiet_hours.filter(has_length),
            settings,
            revision: 1,
            failing: false,
            last: None,
            created: now,
        };
        record.check()?;
        Ok(record)
    }

    /// The channel after a change.
    pub(crate) fn with(&self, set: ChannelSet) -> Result<Self, ChannelError> {
        let ChannelSet { name, settings, min_severity, codes, quiet_hours, enabled } = set;
        let mut record = self.clone();
        record.revision += 1;
        record.name = name.unwrap_or(record.name);
        record.enabled = enabled.unwrap_or(record.enabled);
        record.min_severity = min_severity.unwrap_or(record.min_severity);
        record.codes = codes.unwrap_or(record.codes);
        if let Some(hours) = quiet_hours {
            record.quiet_hours = Some(hours).filter(has_length);
        }
        if let Some(settings) = settings {
            if std::mem::discriminant(&settings) != std::mem::discriminant(&self.settings) {
                return Err(ChannelError::OtherKind { name: self.name.clone() });
            }
            record.settings = with_secret_of(Some(&self.settings), settings)?;
        }
        record.check()?;
        Ok(record)
    }

    /// True if the channel is for alerts such as this one.
    pub(crate) fn wants(&self, condition: &Condition) -> bool {
        condition.severity >= self.min_severity && (self.codes.is_empty() || self.codes.contains(&condition.code))
    }

    fn check(&self) -> Result<(), ChannelError> {
        if !identity::is_name(&self.name) {
            return Err(ChannelError::InvalidName { name: self.name.chars().take(MAX_CODE_BYTES).collect() });
        }
        let is_code = |code: &String| {
            let is_possible = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !code.is_empty() && code.len() <= MAX_CODE_BYTES && code.bytes().all(is_possible)
        };
        if self.codes.len() > MAX_CODES || !self.codes.iter().all(is_code) {
            return invalid("codes", format!("at most {MAX_CODES} codes of alerts, such as pool-full"));
        }
        if let Some(hours) = &self.quiet_hours {
            if hours.from_minute >= 1440 || hours.until_minute >= 1440 {
                return invalid("quiet_hours", "minutes of a day are 0 to 1439".to_owned());
            }
            if hours.zone.len() > MAX_CODE_BYTES || TimeZone::get(&hours.zone).is_err() {
                return invalid("quiet_hours", "no time zone has this name: Europe/Berlin is one".to_owned());
            }
        }
        match &self.settings {
            ChannelSettings::Email(settings) => check_email(settings),
            ChannelSettings::Webhook(settings) => check_webhook(settings),
            ChannelSettings::Syslog(settings) => check_syslog(settings),
        }
    }
}

fn has_length(hours: &QuietHours) -> bool {
    hours.from_minute != hours.until_minute
}

fn invalid(field: &'static str, reason: String) -> Result<(), ChannelError> {
    Err(ChannelError::InvalidSetting { field, reason })
}

/// Settings as they are kept: with the present secret if the request has none and the peer is the same.
fn with_secret_of(
    present: Option<&ChannelSettings>,
    settings: ChannelSettings,
) -> Result<ChannelSettings, ChannelError> {
    let keep = |given: Option<String>, present: Option<String>, is_same: bool, secret: &'static str| match given {
        Some(given) => Ok(Some(given).filter(|given| !given.is_empty())),
        None if is_same || present.is_none() => Ok(present),
        None => Err(ChannelError::SecretNeeded { secret }),
    };
    let is_same = present.is_some_and(|present| present.is_same_peer(&settings));
    Ok(match settings {
        ChannelSettings::Email(mut new) => {
            let old = match present {
                Some(ChannelSettings::Email(old)) => Some(old),
                _ => None,
            };
            let password = old.and_then(|old| old.password.clone());
            // Without a user there is nothing that the password is for.
            let password = password.filter(|_| new.user.is_some());
            new.password = keep(new.password, password, is_same, "password")?;
            new.has_password = None;
            ChannelSettings::Email(new)
        }
        ChannelSettings::Webhook(mut new) => {
            let old = match present {
                Some(ChannelSettings::Webhook(old)) => Some(old),
                _ => None,
            };
            new.secret = keep(new.secret, old.and_then(|old| old.secret.clone()), is_same, "secret")?;
            new.has_secret = None;
            ChannelSettings::Webhook(new)
        }
        syslog @ ChannelSettings::Syslog(_) => syslog,
    })
}

fn check_email(settings: &EmailSettings) -> Result<(), ChannelError> {
    check_server(&settings.server, settings.port)?;
    check_ca(settings.ca.as_deref())?;
    check_text("user", settings.user.as_deref())?;
    check_text("password", settings.password.as_deref())?;
    if settings.user.is_some() != settings.password.is_some() {
        return invalid("password", "a user has a password, and a password belongs to a user".to_owned());
    }
    if settings.password.is_some() && settings.tls == MailTls::None {
        return invalid("tls", "a password is sent with TLS only".to_owned());
    }
    let is_address = |text: &String| {
        text.len() <= MAX_TEXT_BYTES && !text.chars().any(text::terminal::is_hidden) && text.parse::<Mailbox>().is_ok()
    };
    if !is_address(&settings.from) {
        return invalid("from", format!("{:?} is no address, such as array@example.org", settings.from));
    }
    if settings.to.is_empty() || settings.to.len() > MAX_RECEIVERS {
        return invalid("to", format!("1 to {MAX_RECEIVERS} addresses"));
    }
    match settings.to.iter().find(|to| !is_address(to)) {
        Some(to) => invalid("to", format!("{to:?} is no address, such as ops@example.org")),
        None => Ok(()),
    }
}

fn check_webhook(settings: &WebhookSettings) -> Result<(), ChannelError> {
    check_ca(settings.ca.as_deref())?;
    check_text("secret", settings.secret.as_deref())?;
    let uri = settings.url.parse::<Uri>().ok().filter(|_| settings.url.len() <= MAX_TEXT_BYTES);
    let is_possible = uri.is_some_and(|uri| {
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        let host = uri.host().map(|host| host.trim_matches(['[', ']']));
        let is_host = host.is_some_and(|host| ServerName::try_from(host).is_ok());
        matches!(uri.scheme_str(), Some("https" | "http")) && is_host && !has_user && uri.port_u16() != Some(0)
    });
    if is_possible {
        Ok(())
    } else {
        invalid("url", "an address such as https://alerts.example.org/hook, without a user".to_owned())
    }
}

fn check_syslog(settings: &SyslogSettings) -> Result<(), ChannelError> {
    check_server(&settings.server, settings.port)?;
    check_ca(settings.ca.as_deref())?;
    match settings.facility {
        Some(24..) => invalid("facility", "a facility is 0 to 23".to_owned()),
        _ => Ok(()),
    }
}

fn check_server(server: &str, port: Option<u16>) -> Result<(), ChannelError> {
    if ServerName::try_from(server).is_err() {
        return invalid("server", format!("{server:?} is neither the name nor the address of a machine"));
    }
    if port == Some(0) { invalid("port", "a port is 1 to 65535".to_owned()) } else { Ok(()) }
}

fn check_text(field: &'static str, text: Option<&str>) -> Result<(), ChannelError> {
    match text {
        Some(text) if text.is_empty() || text.len() > MAX_TEXT_BYTES || text.chars().any(text::terminal::is_hidden) => {
            invalid(field, format!("1 to {MAX_TEXT_BYTES} bytes, without control characters"))
        }
        _ => Ok(()),
    }
}

fn check_ca(ca: Option<&str>) -> Result<(), ChannelError> {
    let Some(ca) = ca else { return Ok(()) };
    let certificates = CertificateDer::pem_slice_iter(ca.as_bytes()).collect::<Result<Vec<_>, _>>();
    let mut roots = rustls::RootCertStore::empty();
    let is_usable = certificates.is_ok_and(|all| !all.is_empty() && all.into_iter().all(|of| roots.add(of).is_ok()));
    if ca.len() <= MAX_CA_BYTES && is_usable {
        Ok(())
    } else {
        invalid("ca", format!("certificates of authorities in PEM format, at most {MAX_CA_BYTES} bytes"))
    }
}
