//! Settings of channels, and their secrets.

use super::*;
use api::{ChannelSet, EmailSettings, MailTls, WebhookBody, WebhookSettings};

fn email() -> EmailSettings {
    EmailSettings {
        server: "mail.example.org".to_owned(),
        port: None,
        tls: MailTls::Starttls,
        ca: None,
        user: Some("array".to_owned()),
        password: Some("hunter2".to_owned()),
        has_password: None,
        from: "Array <array@example.org>".to_owned(),
        to: vec!["ops@example.org".to_owned()],
    }
}

fn webhook(url: &str, secret: Option<&str>) -> ChannelSettings {
    let secret = secret.map(str::to_owned);
    ChannelSettings::Webhook(WebhookSettings {
        url: url.to_owned(),
        body: WebhookBody::Windlass,
        secret,
        has_secret: None,
        ca: None,
    })
}

/// Code of the refusal of a channel with these settings.
fn refusal(settings: ChannelSettings) -> Option<&'static str> {
    let new = NewChannel {
        id: Uuid::from_u128(1),
        name: "ops".to_owned(),
        settings,
        min_severity: Severity::Warning,
        codes: Vec::new(),
        quiet_hours: None,
        enabled: true,
    };
    Notices::default().create_channel(new, Timestamp::UNIX_EPOCH).err().map(|error| error.code())
}

#[test]
fn bad_settings_are_refused() {
    let mail = |edit: fn(&mut EmailSettings)| {
        let mut settings = email();
        edit(&mut settings);
        refusal(ChannelSettings::Email(settings))
    };
    assert_eq!(mail(|_| {}), None);
    let wrong: [fn(&mut EmailSettings); 15] = [
        |of| of.server = String::new(),
        |of| of.server = "mail.example.org\r\nQUIT".to_owned(),
        |of| of.server = "mail example".to_owned(),
        |of| of.port = Some(0),
        |of| of.from = "nobody".to_owned(),
        |of| of.from = "a@example.org\r\nBcc: eve@example.org".to_owned(),
        |of| of.from = "\u{202e}gro@example.org".to_owned(),
        |of| of.to = Vec::new(),
        |of| of.to = vec!["ops@example.org".to_owned(); 17],
        |of| of.to = vec!["ops@example.org, eve@example.org".to_owned()],
        |of| of.to = vec!["ops@example.org>\r\nRCPT TO:<eve@example.org".to_owned()],
        |of| of.password = None,
        |of| of.user = Some("a\r\nb".to_owned()),
        |of| of.tls = MailTls::None,
        |of| of.ca = Some("no certificate".to_owned()),
    ];
    for (number, edit) in wrong.into_iter().enumerate() {
        assert_eq!(mail(edit), Some("invalid-setting"), "number {number}");
    }
    for url in ["https://alerts.example.org/hook?x=1", "http://127.0.0.1:9/", "https://[2001:db8::1]:8443/a"] {
        assert_eq!(refusal(webhook(url, None)), None, "{url}");
    }
    for url in
        ["", "alerts.example.org", "ftp://x/", "https://", "https://u:p@example.org/", "http://a:0/", "http:///x"]
    {
        assert_eq!(refusal(webhook(url, None)), Some("invalid-setting"), "{url}");
    }
    let facility = |facility| match syslog("192.0.2.1") {
        ChannelSettings::Syslog(of) => refusal(ChannelSettings::Syslog(SyslogSettings { facility, ..of })),
        _ => None,
    };
    assert_eq!((facility(Some(23)), facility(Some(24))), (None, Some("invalid-setting")));
}

#[test]
fn names_codes_and_hours_are_checked() {
    let mut desk = Desk::with_channel();
    let set = |desk: &Desk, set: ChannelSet| desk.notices.set_channel("ops", set, desk.now).err().map(|of| of.code());
    for name in ["", "a b", "a\r\n", "\u{202e}a", &"x".repeat(64)] {
        let named = ChannelSet { name: Some(name.to_owned()), ..ChannelSet::default() };
        assert_eq!(set(&desk, named), Some("invalid-name"), "{name:?}");
    }
    for codes in [vec!["Pool Full".to_owned()], vec![String::new()], vec!["a".to_owned(); 65]] {
        let coded = ChannelSet { codes: Some(codes), ..ChannelSet::default() };
        assert_eq!(set(&desk, coded), Some("invalid-setting"));
    }
    for (from_minute, until_minute, zone) in [(1440, 1, "UTC"), (1, 1440, "UTC"), (1, 2, "Europe/Nowhere")] {
        let hours = QuietHours { from_minute, until_minute, zone: zone.to_owned() };
        let quiet = ChannelSet { quiet_hours: Some(hours), ..ChannelSet::default() };
        assert_eq!(set(&desk, quiet), Some("invalid-setting"));
    }
    desk.channel("other", |_| {});
    let taken = ChannelSet { name: Some("OTHER".to_owned()), ..ChannelSet::default() };
    assert_eq!(set(&desk, taken), Some("exists"));
    let kind = ChannelSet { settings: Some(webhook("http://a/", None)), ..ChannelSet::default() };
    assert_eq!(set(&desk, kind), Some("invalid-setting"));
    for number in 2..16 {
        desk.channel(&format!("c{number}"), |_| {});
    }
    let new = NewChannel {
        id: Uuid::from_u128(9999),
        name: "more".to_owned(),
        settings: syslog("192.0.2.1"),
        min_severity: Severity::Info,
        codes: Vec::new(),
        quiet_hours: None,
        enabled: true,
    };
    assert_eq!(desk.notices.create_channel(new, desk.now).unwrap_err().code(), "too-many");
}

/// An administrator who may not see the password must not be able to send it to a server of their own.
#[test]
fn a_secret_stays_and_does_not_go_to_another_peer() {
    let mut desk = Desk::new();
    desk.channel("mail", |new| new.settings = ChannelSettings::Email(email()));
    desk.channel("hook", |new| new.settings = webhook("https://a.example.org/", Some("key")));
    let password = |desk: &Desk| match &desk.notices.channel("mail").unwrap().settings {
        ChannelSettings::Email(of) => of.password.clone(),
        _ => None,
    };
    let secret = |desk: &Desk| match &desk.notices.channel("hook").unwrap().settings {
        ChannelSettings::Webhook(of) => of.secret.clone(),
        _ => None,
    };
    let set = |desk: &mut Desk, name: &str, settings: ChannelSettings| {
        let set = ChannelSet { settings: Some(settings), ..ChannelSet::default() };
        let changes = desk.notices.set_channel(name, set, desk.now).map_err(|error| error.code())?;
        desk.apply(changes);
        Ok(())
    };
    let to = vec!["new@example.org".to_owned()];
    let same = EmailSettings { password: None, has_password: Some(true), to, ..email() };
    assert_eq!(set(&mut desk, "mail", ChannelSettings::Email(same.clone())), Ok(()));
    assert_eq!(password(&desk).as_deref(), Some("hunter2"));
    for other in [
        EmailSettings { server: "evil.example.org".to_owned(), ..same.clone() },
        EmailSettings { tls: MailTls::None, ..same.clone() },
        EmailSettings { port: Some(2525), ..same.clone() },
    ] {
        assert_eq!(set(&mut desk, "mail", ChannelSettings::Email(other)), Err("secret-needed"));
    }
    let without = EmailSettings { user: None, server: "evil.example.org".to_owned(), ..same };
    assert_eq!(set(&mut desk, "mail", ChannelSettings::Email(without)), Ok(()), "no user: the password is dropped");
    assert_eq!(password(&desk), None);
    assert_eq!(set(&mut desk, "hook", webhook("https://a.example.org/", None)), Ok(()));
    assert_eq!(secret(&desk).as_deref(), Some("key"));
    assert_eq!(set(&mut desk, "hook", webhook("https://evil.example.org/", None)), Err("secret-needed"));
    assert_eq!(set(&mut desk, "hook", webhook("https://b.example.org/", Some("new"))), Ok(()));
    assert_eq!(set(&mut desk, "hook", webhook("https://b.example.org/", Some(""))), Ok(()));
    assert_eq!(secret(&desk), None);
    assert!(!format!("{:?}", email()).contains("hunter2"), "not in a log either");
}
