//! Messages for people: a subject of one line, and a body.

use super::Sender;
use crate::notice::{Kind, Message, Notice};
use ::text::terminal::harmless;
use std::fmt::Write;

/// Longest subject in characters.
const MAX_SUBJECT: usize = 180;

/// Subject of a message, of one line.
pub(crate) fn subject(sender: &Sender, message: &Message) -> String {
    let about = match (&message.notices[..], message.is_test) {
        (_, true) => "test of notification".to_owned(),
        ([notice], false) if message.left_out == 0 => line(notice),
        (notices, false) => {
            let total = notices.len() + message.left_out;
            let worst = notices.iter().filter(|of| of.kind != Kind::Cleared).map(|of| of.severity).max();
            let worst = worst.map(|of| format!(", worst: {}", severity(of))).unwrap_or_default();
            format!("{total} changes of alerts{worst}")
        }
    };
    let subject = format!("[windlass {}] {about}", harmless(&sender.machine));
    subject.chars().take(MAX_SUBJECT).collect()
}

/// One line about an alert.
pub(crate) fn line(notice: &Notice) -> String {
    let state = match notice.kind {
        Kind::Raised => severity(notice.severity).to_uppercase(),
        Kind::Changed => format!("now {}", severity(notice.severity)),
        Kind::Cleared => "ended".to_owned(),
    };
    format!("{state}: {} {}", harmless(&notice.code), harmless(&notice.subject))
}

/// Body of a message, with lines that end in `\n`.
pub(crate) fn body(sender: &Sender, message: &Message) -> String {
    let mut body = String::new();
    if message.is_test {
        body += "This is a test. Alerts of this array arrive here.\n\n";
    }
    for notice in &message.notices {
        let is_over = notice.kind == Kind::Cleared;
        let _infallible = writeln!(body, "{}", line(notice));
        let _infallible = writeln!(body, "  {}", harmless(&notice.message));
        let _infallible = writeln!(body, "  since {:.0}", notice.since);
        if let Some(ended) = notice.ended.filter(|_| is_over) {
            let _infallible = writeln!(body, "  until {ended:.0}");
        } else {
            let _infallible = writeln!(body, "  {}", harmless(&notice.help));
        }
        body.push('\n');
    }
    if message.left_out > 0 {
        let _infallible = writeln!(body, "{} more: the array lists its alerts.\n", message.left_out);
    }
    let Sender { machine, array, version, .. } = sender;
    let _infallible = writeln!(body, "-- \nWindlass {version} on {}, {}", harmless(machine), harmless(array));
    body
}

/// Word of a severity.
pub(crate) const fn severity(severity: api::Severity) -> &'static str {
    match severity {
        api::Severity::Info => "info",
        api::Severity::Warning => "warning",
        api::Severity::Critical => "critical",
    }
}
