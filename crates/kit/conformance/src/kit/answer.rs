//! Answer to a command, with methods that check it. Each failure states the expected and the found
//! value.

use bytes::Bytes;
use iscsi::initiator::Completion;

use super::check::{NotPassed, Verdict, expect_bytes, failed, hex};
use crate::commands::{CHECK_CONDITION, GOOD, RESERVATION_CONFLICT};
use crate::sense::Sense;

/// Answer to one command.
#[derive(Clone, Debug)]
pub struct Answer {
    opcode: u8,
    completion: Completion,
}

impl Answer {
    /// Creates the answer to a command with this operation code.
    pub fn new(opcode: u8, completion: Completion) -> Self {
        Self { opcode, completion }
    }

    /// SCSI status.
    pub fn status(&self) -> u8 {
        self.completion.status
    }

    /// Data-In.
    pub fn data(&self) -> &Bytes {
        &self.completion.data_in
    }

    /// Sense data as received.
    pub fn sense_bytes(&self) -> &Bytes {
        &self.completion.sense
    }

    /// Sense key, code and qualifier; `None` without sense data.
    pub fn sense(&self) -> Option<(u8, u8, u8)> {
        Sense::parse(&self.completion.sense).map(|sense| (sense.key, sense.code, sense.qualifier))
    }

    /// Whether the status is CHECK CONDITION with this sense.
    pub fn is(&self, key: u8, code: u8, qualifier: u8) -> bool {
        self.status() == CHECK_CONDITION && self.sense() == Some((key, code, qualifier))
    }

    /// Describes the status for a message.
    pub fn found(&self) -> String {
        if self.completion.response != 0 {
            return format!("iSCSI response {:02x}h", self.completion.response);
        }
        match (self.status(), Sense::parse(&self.completion.sense)) {
            (GOOD, _) => "GOOD".into(),
            (CHECK_CONDITION, Some(sense)) => format!("CHECK CONDITION {sense}"),
            (CHECK_CONDITION, None) => format!("CHECK CONDITION with sense data [{}]", hex(&self.completion.sense)),
            (RESERVATION_CONFLICT, _) => "RESERVATION CONFLICT".into(),
            (status, _) => format!("status {status:02x}h"),
        }
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, NotPassed> {
        failed(format!("command {:02X}h: expected {expected}, found {}", self.opcode, self.found()))
    }

    /// Expects GOOD.
    pub fn good(self) -> Result<Self, NotPassed> {
        if self.completion.response == 0 && self.status() == GOOD { Ok(self) } else { self.wrong("GOOD") }
    }

    /// Expects CHECK CONDITION with this key, additional sense code and qualifier, in fixed format.
    pub fn check_condition(self, key: u8, code: u8, qualifier: u8) -> Result<Self, NotPassed> {
        if !self.is(key, code, qualifier) {
            return self.wrong(&format!("CHECK CONDITION {key:02x}/{code:02x}/{qualifier:02x}"));
        }
        match self.byte(0) & 0x7F {
            0x70 => Ok(self),
            _ => self.wrong("sense data in fixed format (70h)"),
        }
    }

    /// Expects CHECK CONDITION with one of these senses.
    pub fn one_of(self, allowed: &[(u8, u8, u8)]) -> Result<Self, NotPassed> {
        if allowed.iter().any(|(key, code, qualifier)| self.is(*key, *code, *qualifier)) {
            return Ok(self);
        }
        let list: Vec<_> = allowed.iter().map(|(key, code, more)| format!("{key:02x}/{code:02x}/{more:02x}")).collect();
        self.wrong(&format!("CHECK CONDITION {}", list.join(" or ")))
    }

    /// Expects CHECK CONDITION with this sense key.
    pub fn key(self, key: u8) -> Result<Self, NotPassed> {
        match self.sense() {
            Some((found, ..)) if found == key && self.status() == CHECK_CONDITION => Ok(self),
            _ => self.wrong(&format!("CHECK CONDITION with sense key {key:02x}h")),
        }
    }

    /// Expects RESERVATION CONFLICT without sense data.
    pub fn conflict(self) -> Result<Self, NotPassed> {
        if self.status() != RESERVATION_CONFLICT {
            return self.wrong("RESERVATION CONFLICT");
        }
        if !self.completion.sense.is_empty() {
            return failed(format!(
                "RESERVATION CONFLICT: expected no sense data, found {}",
                hex(&self.completion.sense)
            ));
        }
        Ok(self)
    }

    fn byte(&self, at: usize) -> u8 {
        self.completion.sense.get(at).copied().unwrap_or(0)
    }

    /// Expects sense key specific data that points to this byte of the CDB (SPC-4 §4.5.2.4.2).
    pub fn points_to_cdb(self, byte: u16) -> Result<Self, NotPassed> {
        let found = u16::from_be_bytes([self.byte(16), self.byte(17)]);
        if self.byte(15) & 0xC0 != 0xC0 {
            return failed(format!(
                "sense key specific: expected SKSV=1 and C/D=1 (C0h), found {:02x}h in sense data {}",
                self.byte(15),
                hex(&self.completion.sense)
            ));
        }
        if found == byte { Ok(self) } else { failed(format!("field pointer: expected {byte}, found {found}")) }
    }

    /// Expects this INFORMATION, with VALID set.
    pub fn information(self, expected: u32) -> Result<Self, NotPassed> {
        let found = u32::from_be_bytes([self.byte(3), self.byte(4), self.byte(5), self.byte(6)]);
        if self.byte(0) != 0xF0 {
            return failed(format!("sense data: expected byte 0 F0h (VALID), found {:02x}h", self.byte(0)));
        }
        if found == expected {
            Ok(self)
        } else {
            failed(format!("INFORMATION: expected {expected:08x}h, found {found:08x}h"))
        }
    }

    /// Expects this residual in bytes: positive for underflow, negative for overflow.
    pub fn residual(self, expected: i64) -> Result<Self, NotPassed> {
        let found = self.completion.residual;
        if found == expected {
            Ok(self)
        } else {
            failed(format!("command {:02X}h: expected residual {expected}, found {found}", self.opcode))
        }
    }

    /// Expects this number of bytes of Data-In.
    pub fn length(self, expected: usize) -> Result<Self, NotPassed> {
        let found = self.data().len();
        if found == expected {
            Ok(self)
        } else {
            failed(format!("command {:02X}h: expected {expected} bytes of data, found {found}", self.opcode))
        }
    }

    /// Expects these bytes at an offset of Data-In.
    pub fn bytes(self, at: usize, expected: &[u8]) -> Result<Self, NotPassed> {
        let data = self.data().get(at..).unwrap_or_default();
        let what = format!("command {:02X}h, data from byte {at}", self.opcode);
        expect_bytes(&what, data.get(..data.len().min(expected.len())).unwrap_or_default(), expected)?;
        Ok(self)
    }

    /// Expects this value of a byte of Data-In under a mask.
    pub fn masked(self, at: usize, mask: u8, expected: u8) -> Result<Self, NotPassed> {
        match self.data().get(at) {
            Some(byte) if byte & mask == expected => Ok(self),
            Some(byte) => failed(format!(
                "command {:02X}h, data byte {at}: expected {expected:02x}h under mask {mask:02x}h, found {byte:02x}h",
                self.opcode
            )),
            None => failed(format!("command {:02X}h: data end before byte {at}", self.opcode)),
        }
    }

    /// Reads a big-endian number of up to eight bytes from Data-In.
    pub fn number(&self, at: usize, bytes: usize) -> Result<u64, NotPassed> {
        match self.data().get(at..at + bytes) {
            Some(field) => Ok(field.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            None => failed(format!("command {:02X}h: data end before byte {}", self.opcode, at + bytes)),
        }
    }

    /// Ends a chain of expectations.
    pub fn done(self) -> Verdict {
        Ok(())
    }
}
