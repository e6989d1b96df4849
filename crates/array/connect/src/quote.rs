//! Commands whose words are quoted for their shell, and values quoted for a file.

use crate::{Command, Shell};
use std::fmt::Write as _;
use text::terminal::{harmless, harmless_lines, quoted, word};

/// Command of a POSIX shell: each word is one word, whatever is in it.
fn command(shell: Shell, words: &[&str]) -> Command {
    let quoted = words.iter().enumerate().map(|(at, word)| if at == 0 { posix(word) } else { argument(word) });
    line(shell, quoted.collect::<Vec<_>>().join(" "))
}

/// Argument of a command; `key=value` without quotes if neither part needs them.
fn argument(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && key.chars().all(is_plain) => format!("{key}={}", posix(value)),
        _ => posix(text),
    }
}

/// Command of a POSIX shell.
pub(crate) fn sh(words: &[&str]) -> Command {
    command(Shell::Sh, words)
}

/// Command of the shell of ESXi.
pub(crate) fn esxi(words: &[&str]) -> Command {
    command(Shell::Esxi, words)
}

/// Text whose values are quoted.
pub(crate) fn line(shell: Shell, text: impl Into<String>) -> Command {
    Command { text: text.into(), shell, file: None }
}

/// Content of a file, whose values are quoted.
pub(crate) fn file(shell: Shell, name: &str, text: String) -> Command {
    Command { text, shell, file: Some(name.to_owned()) }
}

/// Command that writes a line to a file, which `redirection` begins. `echo` of some shells would read escapes in it.
pub(crate) fn write_line(text: &str, redirection: &str) -> Command {
    line(Shell::Sh, format!("printf '%s\\n' {} {redirection}", posix(text)))
}

/// Start of the lines of /etc/fstab with a source, as a basic regular expression between `|`.
fn lines_of(source: &str) -> String {
    let mut pattern = String::from("^");
    for c in source.chars() {
        if matches!(c, '.' | '[' | ']' | '*' | '^' | '$' | '\\' | '|') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push(' ');
    pattern
}

/// Command that removes the lines of /etc/fstab that begin with a source.
pub(crate) fn without_mount(source: &str) -> Command {
    line(Shell::Sh, format!("sed -i {} /etc/fstab", posix(&format!("\\|{}|d", lines_of(source)))))
}

/// Commands that give /etc/fstab one line for a source, also when they are entered again.
pub(crate) fn with_mount(source: &str, rest: &str) -> [Command; 2] {
    [without_mount(source), write_line(&format!("{source} {rest}"), ">>/etc/fstab")]
}

/// Placeholder of a secret as one word of a POSIX shell, in quotes also where it needs none: secrets that are pasted
/// over it may.
pub(crate) fn secret(placeholder: &str) -> String {
    quoted(placeholder)
}

/// One word of a POSIX shell.
pub(crate) fn posix(text: &str) -> String {
    word(&harmless(text)).into_owned()
}

/// Command of PowerShell with its parameters. A parameter without a value is a switch.
pub(crate) fn powershell(name: &str, parameters: &[(&str, &str)]) -> Command {
    let mut text = name.to_owned();
    for (parameter, value) in parameters {
        text += " ";
        text += parameter;
        if !value.is_empty() {
            text += " ";
            text += &quoted_for_powershell(value);
        }
    }
    line(Shell::Powershell, text)
}

/// Text in single quotes of PowerShell, which takes typographic quotes for its own.
pub(crate) fn quoted_for_powershell(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in harmless(text).chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(c);
        }
        quoted.push(c);
    }
    quoted + "'"
}

/// Text of XML, also between quotes.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for c in harmless_lines(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&apos;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Placeholder of a secret as a string of YAML in single quotes, in which only `'` is special.
pub(crate) fn secret_for_yaml(placeholder: &str) -> String {
    format!("'{placeholder}'")
}

/// String of YAML, in double quotes.
pub(crate) fn yaml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if text::terminal::is_hidden(c) => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_leave_their_quotes() {
        assert_eq!(sh(&["echo", "a; reboot", "$(id)"]).text, "echo 'a; reboot' '$(id)'");
        assert_eq!(sh(&["echo", "a\nreboot"]).text, r"echo 'a\nreboot'", "a line break is shown");
        assert_eq!(
            powershell("New-Item", &[("-Name", "a'; Stop-Computer #"), ("-Force", "")]).text,
            "New-Item -Name 'a''; Stop-Computer #' -Force"
        );
        assert_eq!(quoted_for_powershell("a\u{2019}; b"), "'a\u{2019}\u{2019}; b'");
        assert_eq!(quoted_for_powershell("$(Stop-Computer)"), "'$(Stop-Computer)'");
        assert_eq!(
            sh(&["a", "--key=value", "--key=a b", "=x", "$(id)=y"]).text,
            "a --key=value --key='a b' '=x' '$(id)=y'"
        );
        assert_eq!(xml("a'/><x y=\"&"), "a&apos;/&gt;&lt;x y=&quot;&amp;");
        assert_eq!(yaml("a\": b\n- c\\"), "\"a\\\": b\\U0000000A- c\\\\\"");
    }
}
