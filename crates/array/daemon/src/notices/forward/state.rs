//! Which receivers there are, and how far each is.

use super::receiver::Receiver;
use super::{Channels, Place};
use anyhow::Context;
use api::SyslogSettings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use uuid::Uuid;

/// Largest number of receivers that their channels have left; the oldest goes first.
const MAX_LEFT: usize = 16;

/// Receivers, and channels that pause.
#[derive(Default)]
pub(super) struct State {
    pub receivers: Vec<Receiver>,
    /// Number of the last line that a channel sent which does not want the audit now.
    pauses: BTreeMap<Uuid, u64>,
}

/// A receiver or a pause in the file.
#[derive(Serialize, Deserialize)]
struct Stored {
    channel: Uuid,
    /// Absent: the channel pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<SyslogSettings>,
    seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

/// The file, as this release and the one before write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Now(Vec<Stored>),
    Before(BTreeMap<Uuid, u64>),
}

/// Reads a file; one that does not exist has nothing.
pub(super) fn read(path: &Path) -> anyhow::Result<State> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let file: File = serde_json::from_str(&text).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut state = State::default();
    match file {
        File::Before(positions) => state.pauses = positions,
        File::Now(stored) => {
            for Stored { channel, settings, seq, until } in stored {
                match settings {
                    Some(settings) => {
                        state.receivers.push(Receiver::new(channel, settings, Place::behind(seq), until));
                    }
                    None => drop(state.pauses.insert(channel, seq)),
                }
            }
        }
    }
    Ok(state)
}

impl State {
    /// Content of the file.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        let receivers = self.receivers.iter().map(|receiver| Stored {
            channel: receiver.channel,
            settings: Some(receiver.settings.clone()),
            seq: receiver.place.seq,
            until: receiver.until(),
        });
        let pauses = self.pauses.iter();
        let pauses = pauses.map(|(id, seq)| Stored { channel: *id, settings: None, seq: *seq, until: None });
        serde_json::to_string(&receivers.chain(pauses).collect::<Vec<_>>())
    }

    /// Whether the receivers are those of the channels.
    pub(super) fn agrees(&self, channels: &Channels) -> bool {
        let current = || self.receivers.iter().filter(|receiver| receiver.until().is_none());
        current().count() == channels.wanting.len()
            && current().all(|receiver| channels.wanting.get(&receiver.channel) == Some(&receiver.settings))
            && self.pauses.keys().all(|id| channels.all.contains(id))
    }

    /// Makes the receivers those of the channels, after the line `last`.
    pub(super) fn follow(&mut self, mut channels: Channels, last: u64) {
        let mut places = std::mem::take(&mut self.pauses);
        // Newer ones first: of two receivers of a channel, its present one.
        for receiver in self.receivers.iter_mut().rev() {
            let id = receiver.channel;
            match channels.wanting.get(&id) {
                Some(settings) if settings.same_receiver(&receiver.settings) => {
                    receiver.settings = settings.clone();
                    receiver.keep();
                    channels.wanting.remove(&id);
                }
                _ if receiver.until().is_none() => {
                    receiver.leave(last);
                    places.insert(id, receiver.place.seq);
                }
                _ => {}
            }
        }
        for (id, settings) in channels.wanting {
            // A new channel gets what is written from now on.
            let seq = places.remove(&id).unwrap_or(last);
            self.receivers.push(Receiver::new(id, settings, Place::behind(seq), None));
        }
        places.retain(|id, _| channels.all.contains(id));
        self.pauses = places;
        let left = self.receivers.iter().filter(|receiver| receiver.until().is_some()).count();
        let mut superfluous = left.saturating_sub(MAX_LEFT);
        self.receivers.retain(|receiver| {
            let goes = receiver.until().is_some() && superfluous > 0;
            superfluous -= usize::from(goes);
            !goes
        });
    }

    /// Takes receivers out that get nothing more. Returns whether there were some.
    pub(super) fn take_leave(&mut self) -> bool {
        let before = self.receivers.len();
        for over in self.receivers.extract_if(.., |receiver| receiver.is_over()) {
            // It may have got more than when its channel began to pause.
            if let Some(seq) = self.pauses.get_mut(&over.channel) {
                *seq = over.place.seq.max(*seq);
            }
        }
        self.receivers.len() != before
    }
}
