//! What one connection does, decided by seed and number alone.

use super::scenarios;
use crate::image::Random;

/// What has to be known of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub target: String,
    /// A LUN that may be written to.
    pub lun: [u8; 8],
}

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends bytes; gives up when the target does not take them for a while.
    Send(Vec<u8>),
    /// Says and reads nothing for so many milliseconds.
    Pause(u64),
    /// Reads until nothing comes for so many milliseconds.
    Read(u64),
    /// Reads so many times one byte, with a pause of so many milliseconds before each.
    Sip(u32, u64),
    /// Says that nothing more comes (TCP FIN).
    Finish,
}

/// A connection: it ends with the last step, whatever was not read until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What it is about.
    pub kind: &'static str,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Script `number` of a seed.
pub fn script(seed: u64, number: u64, facts: &Facts) -> Script {
    let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.rotate_left(32));
    scenarios::choose(&mut random, number, facts)
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
