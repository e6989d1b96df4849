//! E-mail over SMTP (RFC 5321), by `lettre` over a connection of ours, which bounds what is read: `lettre` itself
//! waits for the end of a line, however long.

use super::tls::Stream;
use super::{described, tls};
use crate::notice::Message;
use crate::render::{Sender, text, word};
use api::{EmailSettings, MailTls};
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, header};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, AsyncTokioStream, Certificate, CertificateStore, TlsParameters,
};
use lettre::transport::smtp::extension::ClientId;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Connection as `lettre` takes it.
#[derive(Debug)]
struct Connection(Box<dyn Stream>);

impl AsyncTokioStream for Connection {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// Sends a message to all receivers at once.
pub(super) async fn send(settings: &EmailSettings, message: &Message, sender: &Sender) -> Result<String, String> {
    let mail = mail(settings, message, sender)?;
    let mut connection = connect(settings, sender).await?;
    let failed = |error: lettre::transport::smtp::Error| described(&error);
    let response = connection.send(mail.envelope(), &mail.formatted()).await.map_err(failed)?;
    // The server has the mail, whatever it says to this.
    let _farewell = connection.quit().await;
    let words: Vec<&str> = response.message().collect();
    Ok(format!("{} {}", response.code(), words.join(" ")))
}

/// The message as a mail server takes it.
fn mail(settings: &EmailSettings, message: &Message, sender: &Sender) -> Result<lettre::Message, String> {
    let mailbox = |text: &str| text.parse::<Mailbox>().map_err(|error| format!("{text:?}: {error}"));
    let from = mailbox(&settings.from)?;
    // The same at each try: a mail server or reader recognises a repetition.
    let id = format!("<{}@{}>", word(message.id), from.email.domain());
    let mut mail = lettre::Message::builder()
        .from(from)
        .date(SystemTime::from(message.time))
        .message_id(Some(id))
        .subject(text::subject(sender, message))
        .raw_header(header::HeaderValue::new(
            header::HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    for to in &settings.to {
        mail = mail.to(mailbox(to)?);
    }
    let body = text::body(sender, message).replace('\n', "\r\n");
    mail.header(ContentType::TEXT_PLAIN).body(body).map_err(|error| described(&error))
}

/// Connects, encrypts and authenticates, as the settings say. Without the encryption that they ask for, it fails.
async fn connect(settings: &EmailSettings, sender: &Sender) -> Result<AsyncSmtpConnection, String> {
    let EmailSettings { server, port, tls, ca, user, password, .. } = settings;
    let default_port = match tls {
        MailTls::Starttls => 587,
        MailTls::Tls => 465,
        MailTls::None => 25,
    };
    let from_the_start = (*tls == MailTls::Tls).then_some(ca.as_deref());
    let stream = tls::connect(server, port.unwrap_or(default_port), from_the_start).await?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let machine: String = sender.machine.chars().filter(|c| is_plain(*c)).take(255).collect();
    let hello = ClientId::Domain(if machine.is_empty() { "localhost".to_owned() } else { machine });
    let failed = |error: lettre::transport::smtp::Error| described(&error);
    let connected = AsyncSmtpConnection::connect_with_transport(Box::new(Connection(stream)), &hello).await;
    let mut connection = connected.map_err(failed)?;
    if *tls == MailTls::Starttls {
        if !connection.can_starttls() {
            return Err("the server does not offer STARTTLS".to_owned());
        }
        connection.starttls(parameters(server, ca.as_deref()).await?, &hello).await.map_err(failed)?;
    }
    if let (Some(user), Some(password)) = (user, password) {
        let credentials = Credentials::new(user.clone(), password.clone());
        connection.auth(DEFAULT_MECHANISMS, &credentials).await.map_err(failed)?;
    }
    Ok(connection)
}

async fn parameters(server: &str, ca: Option<&str>) -> Result<TlsParameters, String> {
    let mut builder = TlsParameters::builder(server.to_owned());
    if let Some(ca) = ca {
        let certificate = Certificate::from_pem(ca.as_bytes()).map_err(|error| format!("ca: {}", described(&error)))?;
        builder = builder.certificate_store(CertificateStore::None).add_root_certificate(certificate);
    }
    // It reads the certificates of the system from files.
    let built = tokio::task::spawn_blocking(move || builder.build()).await;
    let built = built.map_err(|_| "the certificates of the system cannot be read".to_owned())?;
    built.map_err(|error| described(&error))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use crate::condition::alert_id;
    use crate::notice::{Kind, Notice};
    use api::Severity;
    use uuid::Uuid;

    /// A name with a line break must not add a header, nor begin the body.
    #[test]
    fn names_add_no_headers() {
        let settings = EmailSettings {
            server: "mail.example.org".to_owned(),
            port: None,
            tls: MailTls::None,
            ca: None,
            user: None,
            password: None,
            has_password: None,
            from: "Array <array@example.org>".to_owned(),
            to: vec!["ops@example.org".to_owned()],
        };
        let notice = Notice {
            kind: Kind::Raised,
            alert: alert_id("pool-full", "p0"),
            code: "pool-full".to_owned(),
            subject: "p0\r\nBcc: eve@example.org\r\n\r\n\u{202e}evil".to_owned(),
            severity: Severity::Critical,
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
            ended: None,
            message: "full\r\n.\r\nRSET".to_owned(),
            help: "add space".to_owned(),
        };
        let time = "2026-01-01T00:00:01Z".parse().unwrap();
        let message = Message { id: Uuid::nil(), time, is_test: false, notices: vec![notice], left_out: 0 };
        let sender = Sender {
            machine: "m\r\nX-Evil: 1".to_owned(),
            array: "iqn.x".to_owned(),
            version: "1".to_owned(),
            process: 1,
        };
        let bytes = mail(&settings, &message, &sender).unwrap().formatted();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let is_header = |name: &str| head.lines().any(|line| line.starts_with(name));
        assert!(is_header("Subject:") && is_header("Auto-Submitted: auto-generated"), "{head}");
        assert!(!is_header("Bcc:") && !is_header("X-Evil:"), "{head}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert!(!body.contains("\r\n.\r\n") && body.contains("add space"), "{body}");
    }
}
