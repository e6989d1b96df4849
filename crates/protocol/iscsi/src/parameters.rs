//! Operational keys and their negotiation, RFC 7143 §6 and §13.
//!
//! [`Parameters`] holds the results; [`Parameters::answer`] is the target's side (offer in, answer
//! out) and [`Parameters::accept`] the initiator's (answer in). The login handles the keys of names
//! and authentication.

use crate::text;

/// Largest value of the length keys.
const MAX_LENGTH: u64 = (1 << 24) - 1;
/// Supported iSCSIProtocolLevel: RFC 7144.
const PROTOCOL_LEVEL: u16 = 2;
/// Smallest value of the length keys.
const MIN_LENGTH: u64 = 512;

/// Results of the negotiation of a session and its one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// HeaderDigest=CRC32C.
    pub header_digest: bool,
    /// DataDigest=CRC32C.
    pub data_digest: bool,
    /// InitialR2T: true forbids unsolicited Data-Out PDUs.
    pub initial_r2t: bool,
    /// ImmediateData.
    pub immediate_data: bool,
    /// MaxRecvDataSegmentLength the initiator declared, in bytes.
    pub initiator_max_recv_data_segment_length: u32,
    /// MaxRecvDataSegmentLength the target declared, in bytes.
    pub target_max_recv_data_segment_length: u32,
    /// MaxBurstLength in bytes.
    pub max_burst_length: u32,
    /// FirstBurstLength in bytes, at most MaxBurstLength.
    pub first_burst_length: u32,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// DefaultTime2Wait in seconds.
    pub default_time2wait: u16,
    /// DefaultTime2Retain in seconds.
    pub default_time2retain: u16,
    /// iSCSIProtocolLevel: 1 is RFC 7143, 2 has the task management functions of RFC 7144.
    pub protocol_level: u16,
    /// FirstBurstLength was answered: MaxBurstLength may no longer become smaller.
    first_burst_agreed: bool,
    /// TaskReporting=ResponseFence. It has no effect with one connection per session: responses are
    /// sent in order.
    pub response_fence: bool,
}

impl Default for Parameters {
    /// Defaults of keys that are not negotiated (RFC 7143 §13).
    fn default() -> Self {
        Self {
            header_digest: false,
            data_digest: false,
            initial_r2t: true,
            immediate_data: true,
            initiator_max_recv_data_segment_length: 8192,
            target_max_recv_data_segment_length: 8192,
            max_burst_length: 262_144,
            first_burst_length: 65_536,
            max_outstanding_r2t: 1,
            default_time2wait: 2,
            default_time2retain: 20,
            protocol_level: 1,
            first_burst_agreed: false,
            response_fence: false,
        }
    }
}

/// Values that a target accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// MaxRecvDataSegmentLength to declare, in bytes.
    pub max_recv_data_segment_length: u32,
    /// Largest MaxBurstLength, in bytes.
    pub max_burst_length: u32,
    /// Largest FirstBurstLength, in bytes.
    pub first_burst_length: u32,
    /// Largest MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// The target's operand in the OR of InitialR2T.
    pub initial_r2t: bool,
    /// The target's operand in the AND of ImmediateData.
    pub immediate_data: bool,
    /// Smallest DefaultTime2Wait, in seconds.
    pub default_time2wait: u16,
    /// Largest DefaultTime2Retain, in seconds.
    pub default_time2retain: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_recv_data_segment_length: 262_144,
            max_burst_length: 1 << 20,
            first_burst_length: 1 << 20,
            max_outstanding_r2t: 8,
            initial_r2t: false,
            immediate_data: true,
            default_time2wait: 2,
            default_time2retain: 0,
        }
    }
}

/// Answer to one offered key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `key=value`.
    Value(String),
    /// None: the key was a declaration.
    Nothing,
    /// `key=Reject`: the value is not admissible.
    Reject,
    /// `key=NotUnderstood`.
    NotUnderstood,
}

fn in_range(value: &str, low: u64, high: u64) -> Option<u64> {
    text::number(value).filter(|number| (low..=high).contains(number))
}

/// Parses a number in the range of a length key.
fn length(value: &str) -> Option<u32> {
    in_range(value, MIN_LENGTH, MAX_LENGTH).and_then(|number| u32::try_from(number).ok())
}

fn small(value: &str, low: u64, high: u16) -> Option<u16> {
    in_range(value, low, u64::from(high)).and_then(|number| u16::try_from(number).ok())
}

fn digest(value: &str) -> Option<bool> {
    value.split(',').find_map(|choice| match choice {
        "None" => Some(false),
        "CRC32C" => Some(true),
        _ => None,
    })
}

fn digest_word(crc32c: bool) -> String {
    if crc32c { "CRC32C" } else { "None" }.to_owned()
}

fn or_reject(value: Option<String>) -> Answer {
    value.map_or(Answer::Reject, Answer::Value)
}

impl Parameters {
    /// Sets the largest data segment that the target takes, which it declares.
    pub(crate) fn declare_target_segment(&mut self, bytes: u32) {
        self.target_max_recv_data_segment_length = bytes;
    }

    /// Sets the largest data segment that the initiator takes, which it declares.
    pub(crate) fn declare_initiator_segment(&mut self, bytes: u32) {
        self.initiator_max_recv_data_segment_length = bytes;
    }

    /// Whether QUERY TASK, QUERY TASK SET, I_T NEXUS RESET and QUERY ASYNCHRONOUS EVENT may be sent (RFC 7144 §6.2).
    pub const fn carries_query_functions(&self) -> bool {
        self.protocol_level >= 2
    }

    /// Answers one offer of the initiator, and applies the result.
    ///
    /// Keys that depend on each other must be passed in dependence order: MaxBurstLength before
    /// FirstBurstLength. A MaxBurstLength in a later set of offers that is below the agreed
    /// FirstBurstLength is not admissible (RFC 7143 §13.14): the earlier value stays.
    pub fn answer(&mut self, limits: &Limits, key: &str, value: &str) -> Answer {
        match key {
            "HeaderDigest" => or_reject(digest(value).map(|on| {
                self.header_digest = on;
                digest_word(on)
            })),
            "DataDigest" => or_reject(digest(value).map(|on| {
                self.data_digest = on;
                digest_word(on)
            })),
            "InitialR2T" => or_reject(text::boolean(value).map(|offer| {
                self.initial_r2t = offer || limits.initial_r2t;
                text::boolean_word(self.initial_r2t).to_owned()
            })),
            "ImmediateData" => or_reject(text::boolean(value).map(|offer| {
                self.immediate_data = offer && limits.immediate_data;
                text::boolean_word(self.immediate_data).to_owned()
            })),
            "DataPDUInOrder" | "DataSequenceInOrder" => {
                or_reject(text::boolean(value).map(|_| text::boolean_word(true).to_owned()))
            }
            "MaxRecvDataSegmentLength" => match length(value) {
                Some(bytes) => {
                    self.initiator_max_recv_data_segment_length = bytes;
                    Answer::Nothing
                }
                None => Answer::Reject,
            },
            "MaxBurstLength" => {
                let least = if self.first_burst_agreed { self.first_burst_length } else { 0 };
                let result = length(value).map(|offer| offer.min(limits.max_burst_length));
                or_reject(result.filter(|result| *result >= least).map(|result| {
                    self.max_burst_length = result;
                    result.to_string()
                }))
            }
            "FirstBurstLength" => or_reject(length(value).map(|offer| {
                self.first_burst_length = offer.min(limits.first_burst_length).min(self.max_burst_length);
                self.first_burst_length.to_string()
            })),
            "MaxOutstandingR2T" => or_reject(small(value, 1, u16::MAX).map(|offer| {
                self.max_outstanding_r2t = offer.min(limits.max_outstanding_r2t);
                self.max_outstanding_r2t.to_string()
            })),
            "DefaultTime2Wait" => or_reject(small(value, 0, 3600).map(|offer| {
                self.default_time2wait = offer.max(limits.default_time2wait);
                self.default_time2wait.to_string()
            })),
            "DefaultTime2Retain" => or_reject(small(value, 0, 3600).map(|offer| {
                self.default_time2retain = offer.min(limits.default_time2retain);
                self.default_time2retain.to_string()
            })),
            "MaxConnections" => or_reject(small(value, 1, u16::MAX).map(|_| "1".to_owned())),
            "ErrorRecoveryLevel" => or_reject(small(value, 0, 2).map(|_| "0".to_owned())),
            // FastAbort is refused: it requires asynchronous messages to other sessions, which are
            // not implemented.
            "TaskReporting" => {
                let choice = value.split(',').find(|choice| matches!(*choice, "RFC3720" | "ResponseFence"));
                or_reject(choice.map(|choice| {
                    self.response_fence = choice == "ResponseFence";
                    choice.to_owned()
                }))
            }
            "iSCSIProtocolLevel" => or_reject(small(value, 0, 31).map(|offer| {
                self.protocol_level = offer.min(PROTOCOL_LEVEL);
                self.protocol_level.to_string()
            })),
            "IFMarker" | "OFMarker" => or_reject(text::boolean(value).map(|_| text::boolean_word(false).to_owned())),
            "IFMarkInt" | "OFMarkInt" => Answer::Reject,
            _ => Answer::NotUnderstood,
        }
    }

    /// Answers a set of offers; appends to `reply` in the order of the offers.
    pub fn answer_all(&mut self, limits: &Limits, offers: &[(&str, &str)], reply: &mut Vec<u8>) {
        if let Some(&(key, value)) = offers.iter().find(|(key, _)| *key == "MaxBurstLength") {
            let _answered_in_turn = self.answer(limits, key, value);
        }
        for &(key, value) in offers {
            match self.answer(limits, key, value) {
                Answer::Value(value) => text::push(reply, key, &value),
                Answer::Nothing => {}
                Answer::Reject => text::push(reply, key, "Reject"),
                Answer::NotUnderstood => text::push(reply, key, "NotUnderstood"),
            }
        }
        self.first_burst_agreed |=
            offers.iter().any(|(key, value)| *key == "FirstBurstLength" && length(value).is_some());
        self.first_burst_length = self.first_burst_length.min(self.max_burst_length);
    }

    /// Applies the target's answer to one of our keys. False when the value is not admissible.
    ///
    /// `Reject`, `NotUnderstood` and `Irrelevant` leave the default in force; unknown keys are
    /// ignored.
    pub fn accept(&mut self, key: &str, value: &str) -> bool {
        if matches!(value, "Reject" | "NotUnderstood" | "Irrelevant") {
            return true;
        }
        fn store<T>(place: &mut T, value: Option<T>) -> bool {
            value.is_some_and(|value| {
                *place = value;
                true
            })
        }
        match key {
            "HeaderDigest" => store(&mut self.header_digest, digest(value)),
            "DataDigest" => store(&mut self.data_digest, digest(value)),
            "InitialR2T" => store(&mut self.initial_r2t, text::boolean(value)),
            "ImmediateData" => store(&mut self.immediate_data, text::boolean(value)),
            "MaxRecvDataSegmentLength" => store(&mut self.target_max_recv_data_segment_length, length(value)),
            "MaxBurstLength" => store(&mut self.max_burst_length, length(value)),
            "FirstBurstLength" => store(&mut self.first_burst_length, length(value)),
            "MaxOutstandingR2T" => store(&mut self.max_outstanding_r2t, small(value, 1, u16::MAX)),
            "DefaultTime2Wait" => store(&mut self.default_time2wait, small(value, 0, 3600)),
            "DefaultTime2Retain" => store(&mut self.default_time2retain, small(value, 0, 3600)),
            "iSCSIProtocolLevel" => store(&mut self.protocol_level, small(value, 0, 31)),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
