//! Script of one connection, determined by seed and number alone.

use super::scenarios;
use random::Random;

/// Facts about the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Name of the target.
    pub target: String,
    /// LUN that scripts may write to.
    pub lun: [u8; 8],
}

/// Step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends bytes; gives up when the target blocks for a while.
    Send(Vec<u8>),
    /// Stays idle for this many milliseconds.
    Pause(u64),
    /// Reads until nothing comes for this many milliseconds.
    Read(u64),
    /// Reads one byte this many times, each after a pause of this many milliseconds.
    Sip(u32, u64),
    /// Sends a TCP FIN.
    Finish,
}

/// Script of a connection, which ends with the last step; data left unread is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Kind of the script.
    pub kind: &'static str,
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// Builds script `number` of a seed.
pub fn script(seed: u64, number: u64, facts: &Facts) -> Script {
    let random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.rotate_left(32));
    scenarios::choose(&random, number, facts)
}

/// A checksum of the first scripts of a seed (FNV-1a): two runs that print the same number sent the same bytes.
pub fn fingerprint(seed: u64, count: u64, facts: &Facts) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    };
    for number in 0..count {
        for step in script(seed, number, facts).steps {
            match step {
                Step::Send(bytes) => take(&bytes),
                other => take(format!("{other:?}").as_bytes()),
            }
        }
    }
    hash
}
