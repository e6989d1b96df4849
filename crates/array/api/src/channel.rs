//! Channels: where alerts are sent.

use crate::redacted::redacted_debug;
use crate::{NoticeState, Severity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// TLS of a connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MailTls {
    /// STARTTLS (RFC 3207); without it nothing is sent.
    #[default]
    Starttls,
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// No encryption. A password is not sent.
    None,
}

/// Transport of syslog messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyslogTransport {
    /// One datagram a message (RFC 5426).
    Udp,
    /// TCP, each message after its length (RFC 6587).
    Tcp,
    /// TLS, each message after its length (RFC 5425).
    #[default]
    Tls,
}

/// Format of the body that a webhook receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WebhookBody {
    /// The array's own: `{version, id, array, time, notices}`.
    #[default]
    Windlass,
    /// That of Prometheus' Alertmanager, version 4.
    Alertmanager,
}

/// Settings of a channel of e-mail.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EmailSettings {
    /// Name or address of the mail server.
    pub server: String,
    /// Port; absent: 587 with STARTTLS, 465 with TLS, 25 without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// TLS of the connection.
    #[serde(default)]
    #[schema(inline)]
    pub tls: MailTls,
    /// Certificates (PEM) of the authorities to trust instead of those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// User at the mail server; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Password of the user. Never in an answer. Absent in a change: it stays, unless the server or user is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// In answers: true if a password is kept. Ignored in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_password: Option<bool>,
    /// Sender, such as `array@example.org`.
    pub from: String,
    /// Receivers, 1 to 16.
    pub to: Vec<String>,
}

/// Settings of a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// `https://` or `http://` address that receives POST requests.
    pub url: String,
    /// Format of their body.
    #[serde(default)]
    #[schema(inline)]
    pub body: WebhookBody,
    /// Key of the signature in the header `Windlass-Signature`, with HMAC-SHA256. Never in an answer. Absent in a
    /// change: it stays, unless the URL is another. Empty: requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// In answers: true if a secret is kept. Ignored in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_secret: Option<bool>,
    /// Certificates (PEM) of the authorities to trust instead of those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

redacted_debug!(EmailSettings { server, port, tls, ca, user, has_password, from, to } hides { password });
redacted_debug!(WebhookSettings { url, body, has_secret, ca } hides { secret });

/// Settings of a channel of syslog messages (RFC 5424).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SyslogSettings {
    /// Name or address of the receiver.
    pub server: String,
    /// Port; absent: 514 with UDP and TCP, 6514 with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Transport.
    #[serde(default)]
    #[schema(inline)]
    pub transport: SyslogTransport,
    /// Facility, 0 to 23; absent: 16 (local0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facility: Option<u8>,
    /// Certificates (PEM) of the authorities to trust instead of those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// True: lines of the audit are sent, too, as they are written from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
}

impl SyslogSettings {
    /// Port of the receiver.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.transport == SyslogTransport::Tls { 6514 } else { 514 })
    }

    /// Whether messages with these settings go to the receiver of `other`.
    #[must_use]
    pub fn same_receiver(&self, other: &Self) -> bool {
        self.server == other.server && self.port() == other.port() && self.transport == other.transport
    }
}

/// Kind of a channel, with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChannelSettings {
    /// E-mail over SMTP.
    Email(EmailSettings),
    /// POST requests with a JSON body.
    Webhook(WebhookSettings),
    /// Syslog messages.
    Syslog(SyslogSettings),
}

/// Text in the place of the part of a webhook's address that is a secret for many receivers.
pub const HIDDEN: &str = "(hidden)";

/// Scheme, and name or address with the port, of the server of a webhook's address. Names and passwords before an `@`
/// are left out.
fn scheme_and_server(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    // RFC 3986 §3.2: an authority ends at the first of these characters.
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    (scheme, authority.rsplit('@').next().unwrap_or_default())
}

/// Address of a webhook for readers other than administrators who look at the channel itself (audit, log, support
/// bundle): scheme and server, then [`HIDDEN`].
pub fn shown_url(url: &str) -> String {
    let (scheme, server) = scheme_and_server(url);
    format!("{scheme}://{server}/{HIDDEN}")
}

/// Name or address of the server of a webhook's address, without the port.
pub fn url_server(url: &str) -> &str {
    let (_, server) = scheme_and_server(url);
    match server.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => server.split(':').next().unwrap_or_default(),
    }
}

impl ChannelSettings {
    /// True if a password or secret that was given for one may be used with the other: it goes to the server, port,
    /// user and URL for which it was given, with the same TLS, and to no other.
    pub fn is_same_peer(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Email(one), Self::Email(other)) => {
                (&one.server, one.port, &one.user, one.tls) == (&other.server, other.port, &other.user, other.tls)
            }
            (Self::Webhook(one), Self::Webhook(other)) => one.url == other.url,
            (Self::Syslog(_), Self::Syslog(_)) => true,
            _ => false,
        }
    }
}

/// Hours of each day in which only critical alerts are sent. The others follow at their end, if they still hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// First minute of the day, 0 to 1439.
    pub from_minute: u16,
    /// Minute of the day, 0 to 1439, from which everything is sent again. Equal to `from_minute`: no quiet hours.
    pub until_minute: u16,
    /// IANA name of the time zone.
    #[serde(default = "utc")]
    pub zone: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Result of the last message of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelOutcome {
    /// Time of the result.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// `sent` or `failed`.
    pub outcome: NoticeState,
    /// The peer's own words, or what prevented the message.
    pub detail: String,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    /// Identity.
    pub id: Uuid,
    /// Unique name; its case does not count.
    pub name: String,
    /// False: nothing is sent.
    pub enabled: bool,
    /// Lowest severity of alerts that are sent.
    pub min_severity: Severity,
    /// Codes of alerts that are sent; empty: all.
    pub codes: Vec<String>,
    /// Quiet hours; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// Kind and settings, without secrets.
    pub settings: ChannelSettings,
    /// True: the last message could not be sent in three tries.
    pub failing: bool,
    /// Number of messages that wait for a try.
    pub waiting: u64,
    /// Result of the last try or test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ChannelOutcome>,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// Request to create a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelCreate {
    /// Unique name: letters, digits, `.`, `_`, `-` and `@`.
    pub name: String,
    /// Kind and settings.
    pub settings: ChannelSettings,
    /// Lowest severity of alerts that are sent; absent: warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<Severity>,
    /// Codes of alerts that are sent, at most 64; empty: all.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Quiet hours; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// False: nothing is sent yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Request to change a channel. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All settings, of the same kind; secrets that are absent stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<ChannelSettings>,
    /// Lowest severity of alerts that are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<Severity>,
    /// Codes of alerts that are sent; empty: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<Vec<String>>,
    /// Quiet hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// Whether anything is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::{shown_url, url_server};

    /// An address whose server is followed by `?` was shown as a whole.
    #[test]
    fn only_the_server_of_an_address_is_shown() {
        for (url, shown, server) in [
            ("https://hooks.example.org/services/T0/SECRET", "https://hooks.example.org/(hidden)", "hooks.example.org"),
            ("https://hooks.example.org?key=SECRET", "https://hooks.example.org/(hidden)", "hooks.example.org"),
            ("https://hooks.example.org:8443#SECRET", "https://hooks.example.org:8443/(hidden)", "hooks.example.org"),
            ("http://SECRET:SECRET@hooks.example.org", "http://hooks.example.org/(hidden)", "hooks.example.org"),
            ("https://[2001:db8::1]:8443/SECRET", "https://[2001:db8::1]:8443/(hidden)", "2001:db8::1"),
        ] {
            assert_eq!((shown_url(url).as_str(), url_server(url)), (shown, server));
        }
    }
}
