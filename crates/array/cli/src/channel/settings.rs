//! Peers of channels: options, and their form in a list.

use crate::error::CliError;
use crate::secret::SecretSource;
use api::{ChannelSettings, EmailSettings, MailTls, SyslogSettings, SyslogTransport, WebhookBody, WebhookSettings};
use std::path::{Path, PathBuf};

/// TLS of a mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Encryption {
    /// STARTTLS.
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// None.
    None,
}

impl From<Encryption> for MailTls {
    fn from(tls: Encryption) -> Self {
        match tls {
            Encryption::Starttls => Self::Starttls,
            Encryption::Tls => Self::Tls,
            Encryption::None => Self::None,
        }
    }
}

/// Body of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Body {
    /// The array's own.
    Windlass,
    /// Alertmanager's.
    Alertmanager,
}

impl From<Body> for WebhookBody {
    fn from(body: Body) -> Self {
        match body {
            Body::Windlass => Self::Windlass,
            Body::Alertmanager => Self::Alertmanager,
        }
    }
}

/// Transport of syslog messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// TLS.
    Tls,
}

impl From<Transport> for SyslogTransport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self::Udp,
            Transport::Tcp => Self::Tcp,
            Transport::Tls => Self::Tls,
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Options of `channel create email`.
#[derive(Clone, Debug, clap::Args)]
pub struct EmailOptions {
    /// Mail server
    #[arg(long, value_name = "HOST")]
    host: String,
    /// Port [default: 587; 465 with --tls tls, 25 with --tls none]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Encryption: starttls, tls (from the start), none [default: starttls]
    #[arg(long, value_name = "TLS", value_enum, hide_possible_values = true)]
    tls: Option<Encryption>,
    /// User at the mail server
    #[arg(long, value_name = "USER", requires = "password")]
    user: Option<String>,
    /// Source of the password: prompt, - (standard input), file:PATH or env:NAME
    #[arg(long, value_name = "SOURCE", requires = "user")]
    password: Option<SecretSource>,
    /// Sender
    #[arg(long, value_name = "ADDRESS")]
    from: String,
    /// Receivers
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',', required = true)]
    to: Vec<String>,
    /// Trust these certificates (PEM) instead of those of the array's system
    #[arg(long, value_name = "FILE")]
    channel_ca: Option<PathBuf>,
}

impl EmailOptions {
    pub(super) fn settings(&self) -> Result<EmailSettings, CliError> {
        Ok(EmailSettings {
            server: self.host.clone(),
            port: self.port,
            tls: self.tls.map(MailTls::from).unwrap_or_default(),
            ca: certificates(self.channel_ca.as_deref())?,
            user: self.user.clone(),
            password: secret(self.password.as_ref(), "password")?,
            has_password: None,
            from: self.from.clone(),
            to: self.to.clone(),
        })
    }
}

/// Options of `channel create webhook`.
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookOptions {
    /// https:// or http:// address that receives POST requests
    #[arg(long, value_name = "URL")]
    url: String,
    /// Form of the body: windlass, alertmanager [default: windlass]
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true)]
    body: Option<Body>,
    /// Source of the key that signs the body: prompt, - (standard input), file:PATH or env:NAME
    #[arg(long, value_name = "SOURCE")]
    secret: Option<SecretSource>,
    /// Trust these certificates (PEM) instead of those of the array's system
    #[arg(long, value_name = "FILE")]
    channel_ca: Option<PathBuf>,
}

impl WebhookOptions {
    pub(super) fn settings(&self) -> Result<WebhookSettings, CliError> {
        Ok(WebhookSettings {
            url: self.url.clone(),
            body: self.body.map(WebhookBody::from).unwrap_or_default(),
            secret: secret(self.secret.as_ref(), "secret")?,
            has_secret: None,
            ca: certificates(self.channel_ca.as_deref())?,
        })
    }
}

/// Options of `channel create syslog`.
#[derive(Clone, Debug, clap::Args)]
pub struct SyslogOptions {
    /// Receiver
    #[arg(long, value_name = "HOST")]
    host: String,
    /// Port [default: 6514; 514 with --transport udp and tcp]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Transport: udp, tcp, tls [default: tls]
    #[arg(long, value_name = "TRANSPORT", value_enum, hide_possible_values = true)]
    transport: Option<Transport>,
    /// Facility, 0 to 23 [default: 16, local0]
    #[arg(long, value_name = "NUMBER")]
    facility: Option<u8>,
    /// Trust these certificates (PEM) instead of those of the array's system
    #[arg(long, value_name = "FILE")]
    channel_ca: Option<PathBuf>,
    /// Send the lines of the audit, too
    #[arg(long)]
    audit: bool,
}

impl SyslogOptions {
    pub(super) fn settings(&self) -> Result<SyslogSettings, CliError> {
        Ok(SyslogSettings {
            server: self.host.clone(),
            port: self.port,
            transport: self.transport.map(SyslogTransport::from).unwrap_or_default(),
            facility: self.facility,
            ca: certificates(self.channel_ca.as_deref())?,
            audit: self.audit,
        })
    }
}

/// Options of `channel set` about the peer.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Changes {
    /// Mail server or receiver of syslog messages
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Trust these certificates (PEM) instead of those of the array's system
    #[arg(long, value_name = "FILE")]
    channel_ca: Option<PathBuf>,
    /// Trust the certificates of the array's system again
    #[arg(long, visible_alias = "no-ca", conflicts_with = "channel_ca")]
    no_channel_ca: bool,
    /// Encryption of e-mail: starttls, tls, none
    #[arg(long, value_name = "TLS", value_enum, hide_possible_values = true)]
    tls: Option<Encryption>,
    /// User at the mail server; none: no user
    #[arg(long, value_name = "USER|none")]
    user: Option<String>,
    /// Source of the password of the user
    #[arg(long, value_name = "SOURCE")]
    password: Option<SecretSource>,
    /// Sender of e-mail
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
    /// Receivers of e-mail
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',')]
    to: Option<Vec<String>>,
    /// Address of a webhook
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Form of the body of a webhook: windlass, alertmanager
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true)]
    body: Option<Body>,
    /// Source of the key of a webhook
    #[arg(long, value_name = "SOURCE")]
    secret: Option<SecretSource>,
    /// Transport of syslog messages: udp, tcp, tls
    #[arg(long, value_name = "TRANSPORT", value_enum, hide_possible_values = true)]
    transport: Option<Transport>,
    /// Facility of syslog messages, 0 to 23
    #[arg(long, value_name = "NUMBER")]
    facility: Option<u8>,
    /// Whether the lines of the audit are sent, too, as syslog messages: on, off
    #[arg(long, value_name = "ON", value_enum, hide_possible_values = true)]
    audit: Option<Switch>,
}

impl Changes {
    /// True if no option is given.
    pub(super) fn is_empty(&self) -> bool {
        !(self.is_of_email() || self.is_of_webhook() || self.is_of_syslog() || self.is_common())
    }

    fn is_common(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.channel_ca.is_some() || self.no_channel_ca
    }

    /// Certificates after the change.
    fn certificates(&self, present: Option<String>) -> Result<Option<String>, CliError> {
        let given = certificates(self.channel_ca.as_deref())?;
        Ok(given.or(present.filter(|_| !self.no_channel_ca)))
    }

    fn is_of_email(&self) -> bool {
        let is_some = [self.tls.is_some(), self.user.is_some(), self.password.is_some(), self.from.is_some()];
        is_some.contains(&true) || self.to.is_some()
    }

    fn is_of_webhook(&self) -> bool {
        self.url.is_some() || self.body.is_some() || self.secret.is_some()
    }

    fn is_of_syslog(&self) -> bool {
        self.transport.is_some() || self.facility.is_some() || self.audit.is_some()
    }

    /// Settings with these changes. An option of another kind of channel is refused.
    pub(super) fn apply(&self, present: ChannelSettings) -> Result<ChannelSettings, CliError> {
        let (email, webhook, syslog) = (self.is_of_email(), self.is_of_webhook(), self.is_of_syslog());
        let is_of_peer = self.host.is_some() || self.port.is_some();
        let is_foreign = match &present {
            ChannelSettings::Email(_) => webhook || syslog,
            ChannelSettings::Webhook(_) => email || syslog || is_of_peer,
            ChannelSettings::Syslog(_) => email || webhook,
        };
        if is_foreign {
            return Err(CliError::usage(format!("an option is not for a channel of the kind {}", kind(&present))));
        }
        Ok(match present {
            ChannelSettings::Email(present) => ChannelSettings::Email(self.email(present)?),
            ChannelSettings::Webhook(present) => ChannelSettings::Webhook(WebhookSettings {
                url: self.url.clone().unwrap_or(present.url),
                body: self.body.map_or(present.body, WebhookBody::from),
                secret: secret(self.secret.as_ref(), "secret")?,
                has_secret: None,
                ca: self.certificates(present.ca)?,
            }),
            ChannelSettings::Syslog(present) => ChannelSettings::Syslog(SyslogSettings {
                server: self.host.clone().unwrap_or(present.server),
                port: self.port.or(present.port),
                transport: self.transport.map_or(present.transport, SyslogTransport::from),
                facility: self.facility.or(present.facility),
                ca: self.certificates(present.ca)?,
                audit: self.audit.map_or(present.audit, |switch| switch == Switch::On),
            }),
        })
    }

    fn email(&self, present: EmailSettings) -> Result<EmailSettings, CliError> {
        let user = match self.user.as_deref() {
            Some("none") => None,
            Some(user) => Some(user.to_owned()),
            None => present.user,
        };
        Ok(EmailSettings {
            server: self.host.clone().unwrap_or(present.server),
            port: self.port.or(present.port),
            tls: self.tls.map_or(present.tls, MailTls::from),
            ca: self.certificates(present.ca)?,
            user,
            password: secret(self.password.as_ref(), "password")?,
            has_password: None,
            from: self.from.clone().unwrap_or(present.from),
            to: self.to.clone().unwrap_or(present.to),
        })
    }
}

/// Secret of a source. The peer has made it, so the array cannot.
fn secret(source: Option<&SecretSource>, what: &str) -> Result<Option<String>, CliError> {
    match source {
        Some(SecretSource::Generate) => Err(CliError::usage(format!("the {what} cannot be generated"))),
        Some(source) => source.read(what),
        None => Ok(None),
    }
}

/// Text of a file of certificates.
fn certificates(path: Option<&Path>) -> Result<Option<String>, CliError> {
    let read = |path: &Path| {
        let failed = |error| CliError::failed(format!("cannot read {}: {error}", path.display()));
        std::fs::read_to_string(path).map_err(failed)
    };
    path.map(read).transpose()
}

/// Word of a kind.
pub(super) const fn kind(settings: &ChannelSettings) -> &'static str {
    match settings {
        ChannelSettings::Email(_) => "email",
        ChannelSettings::Webhook(_) => "webhook",
        ChannelSettings::Syslog(_) => "syslog",
    }
}

/// Where a channel sends to.
pub(super) fn peer(settings: &ChannelSettings) -> String {
    match settings {
        ChannelSettings::Email(of) => format!("{} via {}", of.to.join(", "), of.server),
        ChannelSettings::Webhook(of) => of.url.clone(),
        ChannelSettings::Syslog(of) => of.server.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    fn syslog() -> SyslogSettings {
        let transport = SyslogTransport::Udp;
        SyslogSettings {
            server: "192.0.2.1".to_owned(),
            port: Some(5514),
            transport,
            facility: Some(3),
            ca: None,
            audit: false,
        }
    }

    #[test]
    fn what_is_not_named_stays() {
        let changes = Changes { transport: Some(Transport::Tcp), ..Changes::default() };
        let changed = changes.apply(ChannelSettings::Syslog(syslog())).unwrap();
        let expected = SyslogSettings { transport: SyslogTransport::Tcp, ..syslog() };
        assert_eq!(changed, ChannelSettings::Syslog(expected));
        assert!(Changes::default().is_empty() && !changes.is_empty());
    }

    /// Story: a certificate that was given once could not be taken away.
    #[test]
    fn certificates_can_be_taken_away() {
        let present = || ChannelSettings::Syslog(SyslogSettings { ca: Some("pem".to_owned()), ..syslog() });
        let other = Changes { transport: Some(Transport::Udp), ..Changes::default() };
        assert_eq!(other.apply(present()).unwrap(), present());
        let none = Changes { no_channel_ca: true, ..Changes::default() };
        assert_eq!(none.apply(present()).unwrap(), ChannelSettings::Syslog(syslog()));
        assert!(!none.is_empty());
    }

    #[test]
    fn options_of_another_kind_are_refused() {
        let url = Changes { url: Some("http://x/".to_owned()), ..Changes::default() };
        assert_eq!(url.apply(ChannelSettings::Syslog(syslog())).unwrap_err().exit_status(), 2);
    }
}
