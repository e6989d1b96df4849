//! The bytes of messages. Names and texts in them may come from hosts and peers: what is invisible or changes the
//! display is escaped, and every line break is ours.

pub(crate) mod syslog;
pub(crate) mod text;
pub(crate) mod webhook;

use uuid::Uuid;

/// The array as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Name of the machine.
    pub machine: String,
    /// Name of the iSCSI target, which is unique.
    pub array: String,
    /// Version of the program.
    pub version: String,
    /// Id of the process.
    pub process: u32,
}

/// Text of a peer in one line: escaped, and at most 300 characters.
pub(crate) fn words(text: &str) -> String {
    const MAX_CHARACTERS: usize = 300;
    let mut words: String = ::text::terminal::harmless(text.trim()).chars().take(MAX_CHARACTERS + 1).collect();
    if words.chars().count() > MAX_CHARACTERS {
        words.pop();
        words.push('…');
    }
    words
}

/// Identity of a message as a word.
pub(crate) fn word(id: Uuid) -> String {
    id.simple().to_string()
}
