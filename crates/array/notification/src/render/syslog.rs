//! Syslog messages (RFC 5424). Each notice is one message; a message has no line break.

use super::Sender;
use super::text::line;
use crate::notice::{AuditLine, Kind, Message, Notice};
use ::text::terminal::harmless;
use api::Severity;

/// Largest message in bytes: what every receiver should take (RFC 5424 §6.1).
pub(crate) const MAX_BYTES: usize = 2048;
/// Largest message with a line of the audit over a stream.
pub(crate) const MAX_AUDIT_BYTES: usize = 64 << 10;
/// Severity of the end of an alert, and of a test.
const NOTICE: u8 = 5;

/// Syslog messages of a message.
pub(crate) fn messages(sender: &Sender, message: &Message, facility: u8) -> Vec<Vec<u8>> {
    let time = format!("{:.6}", message.time);
    let one = |severity: u8, kind: &str, data: &str, text: &str| {
        let head = format!(
            "<{}>1 {time} {} windlass {} {kind} ",
            u16::from(facility) * 8 + u16::from(severity),
            header(&sender.machine, 255),
            sender.process,
        );
        assembled(&head, data, text, MAX_BYTES)
    };
    let mut messages: Vec<Vec<u8>> = if message.is_test {
        vec![one(NOTICE, "test", "-", "test of notification")]
    } else {
        let of = |notice: &Notice| {
            let data = structured(notice, message);
            let text = format!("{}: {}", line(notice), harmless(&notice.message));
            one(severity(notice), notice.kind.name(), &data, &text)
        };
        message.notices.iter().map(of).collect()
    };
    if message.left_out > 0 {
        messages.push(one(NOTICE, "digest", "-", &format!("{} more changes of alerts", message.left_out)));
    }
    messages
}

/// Syslog message with a line of the audit, of at most `most` bytes.
pub(crate) fn audit(sender: &Sender, line: &AuditLine, facility: u8, most: usize) -> Vec<u8> {
    let head = format!(
        "<{}>1 {:.6} {} windlass {} audit ",
        u16::from(facility) * 8 + u16::from(NOTICE),
        line.time,
        header(&sender.machine, 255),
        sender.process,
    );
    assembled(&head, "-", &harmless(&line.text), most)
}

/// A message of at most `most` bytes; its text is cut between two characters.
fn assembled(head: &str, data: &str, text: &str, most: usize) -> Vec<u8> {
    // A text in UTF-8 begins with the byte order mark (RFC 5424 §6.4).
    let mut bytes = format!("{head}{data} \u{feff}").into_bytes();
    let room = most.saturating_sub(bytes.len());
    let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= room;
    let text: String = text.char_indices().take_while(fits).map(|(_, c)| c).collect();
    bytes.extend(text.into_bytes());
    bytes
}

const fn severity(notice: &Notice) -> u8 {
    match (notice.kind, notice.severity) {
        (Kind::Cleared, _) => NOTICE,
        (_, Severity::Critical) => 2,
        (_, Severity::Warning) => 4,
        (_, Severity::Info) => 6,
    }
}

/// Structured data. 32473 is the enterprise number for examples and private use (RFC 5612).
fn structured(notice: &Notice, message: &Message) -> String {
    format!(
        "[windlass@32473 id=\"{}\" alert=\"{}\" code=\"{}\" subject=\"{}\" severity=\"{}\" since=\"{:.0}\"]",
        message.id,
        notice.alert,
        value(&notice.code),
        value(&notice.subject),
        super::text::severity(notice.severity),
        notice.since,
    )
}

/// A value of a parameter, of at most 255 characters: `"`, `\` and `]` are escaped (RFC 5424 §6.3.3).
fn value(text: &str) -> String {
    let mut value = String::new();
    for c in harmless(text).chars().take(255) {
        if matches!(c, '"' | '\\' | ']') {
            value.push('\\');
        }
        value.push(c);
    }
    value
}

/// A field of the header: printable ASCII without spaces, `-` if nothing is left.
fn header(text: &str, most: usize) -> String {
    let field: String = text.chars().filter(char::is_ascii_graphic).take(most).collect();
    if field.is_empty() { "-".to_owned() } else { field }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use crate::condition::alert_id;
    use uuid::Uuid;

    #[test]
    fn a_message_is_one_line_whatever_its_names_contain() {
        let sender =
            Sender { machine: "ma chine\n".to_owned(), array: "iqn.x".to_owned(), version: "1".to_owned(), process: 7 };
        let notice = Notice {
            kind: Kind::Raised,
            alert: alert_id("pool-full", "p0"),
            code: "pool-full".to_owned(),
            subject: "a\"]\\\r\n<0>1 forged \u{202e}".to_owned(),
            severity: Severity::Critical,
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
            ended: None,
            message: "é".repeat(3000),
            help: String::new(),
        };
        let time = "2026-01-01T00:00:01Z".parse().unwrap();
        let message = Message { id: Uuid::nil(), time, is_test: false, notices: vec![notice], left_out: 0 };
        let messages = messages(&sender, &message, 16);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].len() <= MAX_BYTES, "{}", messages[0].len());
        let text = String::from_utf8(messages[0].clone()).unwrap();
        assert!(!text.contains('\n') && !text.contains('\r') && !text.contains('\u{202e}'), "{text}");
        let head = "<130>1 2026-01-01T00:00:01.000000Z machine windlass 7 raised [windlass@32473 id=\"";
        assert!(text.starts_with(head), "{text}");
        let subject =
            r#"subject="a\"\]\\\\r\\n<0>1 forged \\u{202e}" severity="critical" since="2026-01-01T00:00:00Z"]"#;
        assert!(text.contains(subject), "{text}");
    }
}
