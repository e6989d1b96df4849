//! A small mail server (RFC 5321), and what arrives at it.

use crate::peer::{Identity, Stream, accept, listen};
use crate::send;
use api::{ChannelSettings, EmailSettings, MailTls};
use notification::Kind;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What a mail server was told.
#[derive(Debug, Default)]
struct Received {
    commands: Vec<String>,
    mail: String,
    is_encrypted: bool,
}

/// Behaviour of the server.
struct Server {
    listener: TcpListener,
    identity: Identity,
    /// TLS from the first byte.
    wraps: bool,
    /// Offers STARTTLS.
    starttls: bool,
    /// Answer to the mail.
    answer: &'static str,
    /// Answer to the credentials.
    authentication: &'static str,
}

impl Server {
    async fn new() -> (Self, u16) {
        let (listener, port) = listen().await;
        let (answer, authentication) = ("250 2.0.0 queued as 7F3", "235 welcome");
        let identity = Identity::new();
        (Self { listener, identity, wraps: false, starttls: true, answer, authentication }, port)
    }

    /// Serves one connection to its end.
    async fn serve(self) -> Received {
        let acceptor: &TlsAcceptor = &self.identity.acceptor;
        let tls = self.wraps.then_some(acceptor);
        let mut received = Received { is_encrypted: self.wraps, ..Received::default() };
        let Some(stream) = accept(&self.listener, tls).await else { return received };
        let mut stream = BufReader::new(stream);
        say(&mut stream, "220 mail.example.org").await;
        loop {
            let mut line = String::new();
            if !matches!(stream.read_line(&mut line).await, Ok(1..)) {
                return received;
            }
            let line = line.trim_end().to_owned();
            let verb = line.split([' ', ':']).next().unwrap().to_uppercase();
            received.commands.push(line);
            match &*verb {
                "EHLO" => {
                    let offers = if self.starttls && !received.is_encrypted { "250-STARTTLS\r\n" } else { "" };
                    say(&mut stream, &format!("250-mail.example.org\r\n{offers}250 AUTH PLAIN")).await;
                }
                "STARTTLS" => {
                    say(&mut stream, "220 go on").await;
                    let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return received };
                    stream = BufReader::new(Box::new(encrypted));
                    received.is_encrypted = true;
                }
                "AUTH" => say(&mut stream, self.authentication).await,
                "MAIL" | "RCPT" => say(&mut stream, "250 ok").await,
                "DATA" => {
                    say(&mut stream, "354 go on").await;
                    received.mail = mail(&mut stream).await;
                    say(&mut stream, self.answer).await;
                }
                "QUIT" => {
                    say(&mut stream, "221 bye").await;
                    return received;
                }
                _ => say(&mut stream, "502 no").await,
            }
        }
    }
}

async fn say(stream: &mut BufReader<Box<dyn Stream>>, text: &str) {
    stream.write_all(format!("{text}\r\n").as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// Lines up to the single dot.
async fn mail(stream: &mut BufReader<Box<dyn Stream>>) -> String {
    let mut mail = String::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if line == ".\r\n" || line.is_empty() {
            return mail;
        }
        mail += &line;
    }
}

fn settings(port: u16, tls: MailTls, ca: Option<&str>) -> EmailSettings {
    let credentials = |text: &str| (tls != MailTls::None).then(|| text.to_owned());
    EmailSettings {
        server: "127.0.0.1".to_owned(),
        port: Some(port),
        tls,
        ca: ca.map(str::to_owned),
        user: credentials("array"),
        password: credentials("hunter2"),
        has_password: None,
        from: "array@example.org".to_owned(),
        to: vec!["ops@example.org".to_owned(), "Otto <otto@example.org>".to_owned()],
    }
}

#[tokio::test]
async fn mail_arrives_with_each_kind_of_tls() {
    for tls in [MailTls::Starttls, MailTls::Tls, MailTls::None] {
        let (mut server, port) = Server::new().await;
        server.wraps = tls == MailTls::Tls;
        let settings = settings(port, tls, Some(&server.identity.ca));
        let (result, received) = tokio::join!(send(ChannelSettings::Email(settings), Kind::Raised), server.serve());
        assert_eq!(result.as_deref(), Ok("250 2.0.0 queued as 7F3"), "{tls:?}: the peer's words");
        assert_eq!(received.is_encrypted, tls != MailTls::None);
        let said = |start: &str| received.commands.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!(
            (said("EHLO array1") > 0, said("RCPT TO:<"), said("AUTH PLAIN")),
            (true, 2, usize::from(tls != MailTls::None))
        );
        let (head, body) = received.mail.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Message-ID: <0000000000000000000000000000002a@example.org>"), "{head}");
        assert!(head.contains("Subject: [windlass array1] CRITICAL: pool-full p0"), "{head}");
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert!(body.contains("the pool is full") && body.contains("add space"), "{body}");
    }
}

#[tokio::test]
async fn refusals_are_in_the_servers_own_words() {
    let (mut server, port) = Server::new().await;
    server.answer = "552-the mailbox\r\n552 is \x1b[31mfull";
    let settings_of = |server: &Server| settings(port, MailTls::Starttls, Some(&server.identity.ca));
    let settings_ = settings_of(&server);
    let (result, _) = tokio::join!(send(ChannelSettings::Email(settings_), Kind::Raised), server.serve());
    let error = result.unwrap_err();
    assert!(error.contains("552") && error.contains("mailbox") && error.contains("full"), "{error}");
    assert!(!error.contains('\x1b') && !error.contains('\n'), "harmless: {error}");

    let (mut server, port) = Server::new().await;
    server.authentication = "535 5.7.8 wrong password";
    let settings_ = settings(port, MailTls::Starttls, Some(&server.identity.ca));
    let (result, received) = tokio::join!(send(ChannelSettings::Email(settings_), Kind::Raised), server.serve());
    assert!(result.unwrap_err().contains("535"), "the password is wrong");
    assert_eq!(received.mail, "");
}

/// Neither mail nor password leaves without the encryption that was asked for.
#[tokio::test]
async fn nothing_is_sent_without_trusted_tls() {
    // A server without STARTTLS, as someone between could make it look.
    let (mut server, port) = Server::new().await;
    server.starttls = false;
    let with_ca = settings(port, MailTls::Starttls, Some(&server.identity.ca));
    let (result, received) = tokio::join!(send(ChannelSettings::Email(with_ca), Kind::Raised), server.serve());
    assert!(result.is_err(), "{result:?}");
    let said = |received: &crate::smtp::Received, start: &str| received.commands.iter().any(|of| of.starts_with(start));
    assert!(!said(&received, "AUTH") && !said(&received, "MAIL"), "{received:?}");
    // A server with a certificate of another authority.
    for tls in [MailTls::Starttls, MailTls::Tls] {
        let (mut server, port) = Server::new().await;
        server.wraps = tls == MailTls::Tls;
        let other = settings(port, tls, Some(&Identity::new().ca));
        let (result, received) = tokio::join!(send(ChannelSettings::Email(other), Kind::Raised), server.serve());
        let error = result.unwrap_err();
        assert!(error.contains("certificate"), "{error}");
        assert!(!said(&received, "AUTH") && !said(&received, "MAIL"), "{received:?}");
    }
}
