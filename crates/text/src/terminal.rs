//! Texts of others as they may be shown on a terminal, and pasted into a shell. What an array, a datastore or a file of results says is not ours: it
//! must not drive the terminal, look like something else, or become a command.

use std::borrow::Cow;

/// True for characters that nobody sees and that change what is seen: control characters, and those of the direction and the joining of text.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) && !keep(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// A text in one line, with escapes for hidden characters.
pub fn harmless(text: &str) -> String {
    escaped(text, |_| false)
}

/// The same for a text whose lines are ours.
pub fn harmless_lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

/// A text as one word of a POSIX shell, in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same, without quotes where a shell would take it as it is.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@' | '%' | '+' | ',');
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { quoted(text).into() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_and_not_done() {
        assert_eq!(harmless("\u{1b}]0;x\u{7}\u{9b}2J é·→"), r"\u{1b}]0;x\u{7}\u{9b}2J é·→");
        assert_eq!(harmless("a\nb\r\t\u{202e}c"), r"a\nb\r\t\u{202e}c");
        assert_eq!(harmless_lines("a\nb\r\u{1b}c\n"), "a\nb\\r\\u{1b}c\n");
    }

    #[test]
    fn a_word_is_one_word_and_no_command() {
        for (text, expected) in [
            ("$(id)", "'$(id)'"),
            ("`reboot`", "'`reboot`'"),
            ("a b", "'a b'"),
            ("it's; rm", r"'it'\''s; rm'"),
            ("", "''"),
            ("naa.6001405a", "naa.6001405a"),
            ("iqn.x:t/0", "iqn.x:t/0"),
            ("~a", "'~a'"),
        ] {
            assert_eq!(word(text), expected);
        }
        assert_eq!(quoted("VOLUME"), "'VOLUME'");
    }

    /// The shell itself says whether it takes them as they are.
    #[test]
    fn a_shell_reads_a_quoted_word_as_it_is() {
        for text in ["$(id)", "`id`", r"\", "a'b''c'", "*", "$HOME", "a\nb", "-n", "!x", "\"", "#"] {
            let script = format!("printf %s {}", quoted(text));
            // Every system that builds this has a shell: one that has none fails, and does not pass untested.
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
