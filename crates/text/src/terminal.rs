//! Foreign text made safe for a terminal and for pasting into a shell. Text from an array, a
//! datastore or a file of results is not trusted: it must not control the terminal, look like other
//! text, or become a command.

use std::borrow::Cow;

/// Whether a character is invisible and changes the display: control characters, and those of text
/// direction and joining.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{61c}')
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

/// Escapes hidden characters in a text of one line.
pub fn harmless(text: &str) -> String {
    escaped(text, |_| false)
}

/// Escapes hidden characters in a text whose line breaks are our own.
pub fn harmless_lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

/// Quotes a text as one word of a POSIX shell, in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a text as one word of a POSIX shell if it needs quotes.
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

    /// A real shell verifies the quoting.
    #[test]
    fn a_shell_reads_a_quoted_word_as_it_is() {
        for text in ["$(id)", "`id`", r"\", "a'b''c'", "*", "$HOME", "a\nb", "-n", "!x", "\"", "#"] {
            let script = format!("printf %s {}", quoted(text));
            // Every build system has a shell; without one the test fails instead of passing
            // untested.
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
