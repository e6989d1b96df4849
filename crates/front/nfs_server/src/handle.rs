//! Filehandles: what they name, sealed so that none can be made up.
//!
//! 32 bytes, big-endian: version, flags, 2 zeros, object of the share (8), file (8), epoch of the share
//! (4), and the SipHash-2-4 of these 24 bytes under a key of the pool (8). A handle does not depend on
//! the address, the version of the protocol, or the run of the server.

use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use vfs::FileId;

/// Length of a handle in bytes. ESXi takes up to 56.
pub const HANDLE_BYTES: usize = 32;

/// Bytes that the hash covers.
const SEALED_BYTES: usize = HANDLE_BYTES - 8;
const VERSION: u8 = 1;
/// Flag of the handle of the pseudo root, whose other fields are 0.
const PSEUDO_ROOT: u8 = 1;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Root of the pseudo file system, which lists the shares.
    PseudoRoot,
    /// File of a share.
    File {
        /// Object of the share.
        object: u64,
        /// Epoch of the share's handles; handles of another one are stale.
        epoch: u32,
        /// File.
        file: FileId,
    },
}

/// Key under which handles are sealed. It lives as long as the pool.
#[derive(Clone, Copy)]
pub struct HandleKey([u8; 16]);

impl HandleKey {
    /// Key of 16 random bytes.
    pub const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// Handle of a target.
    pub fn seal(&self, target: Target) -> [u8; HANDLE_BYTES] {
        let (flags, object, file, epoch) = match target {
            Target::PseudoRoot => (PSEUDO_ROOT, 0, 0, 0),
            Target::File { object, epoch, file } => (0, object, file.0, epoch),
        };
        let mut sealed = [0; SEALED_BYTES];
        let fields: [&[u8]; 4] =
            [&[VERSION, flags, 0, 0], &object.to_be_bytes(), &file.to_be_bytes(), &epoch.to_be_bytes()];
        sealed.iter_mut().zip(fields.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
        let bytes = sealed.into_iter().chain(self.hash(&sealed));
        let mut handle = [0; HANDLE_BYTES];
        handle.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        handle
    }

    /// Target of a handle; `None` for bytes that this key has not sealed.
    pub fn open(&self, handle: &[u8]) -> Option<Target> {
        let handle: &[u8; HANDLE_BYTES] = handle.try_into().ok()?;
        let (sealed, hash) = handle.split_first_chunk::<SEALED_BYTES>()?;
        if self.hash(sealed) != hash {
            return None;
        }
        let (head, rest) = sealed.split_first_chunk::<4>()?;
        let (object, rest) = rest.split_first_chunk::<8>()?;
        let (file, epoch) = rest.split_first_chunk::<8>()?;
        match head {
            [VERSION, PSEUDO_ROOT, 0, 0] => Some(Target::PseudoRoot),
            [VERSION, 0, 0, 0] => Some(Target::File {
                object: u64::from_be_bytes(*object),
                file: FileId(u64::from_be_bytes(*file)),
                epoch: u32::from_be_bytes(epoch.try_into().ok()?),
            }),
            _ => None,
        }
    }

    fn hash(&self, sealed: &[u8; SEALED_BYTES]) -> [u8; 8] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(sealed);
        hasher.finish().to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: HandleKey = HandleKey::new([7; 16]);
    const FILE: Target = Target::File { object: 0x0102_0304, epoch: 9, file: FileId(0x1122) };

    #[test]
    fn a_handle_has_its_fields_in_fixed_places() {
        let handle = KEY.seal(FILE);
        assert_eq!(handle[..4], [1, 0, 0, 0]);
        assert_eq!(handle[4..12], [0, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(handle[12..20], [0, 0, 0, 0, 0, 0, 0x11, 0x22]);
        assert_eq!(handle[20..24], [0, 0, 0, 9]);
        assert_eq!(KEY.seal(FILE), handle);
    }

    #[test]
    fn a_sealed_target_is_opened_again() {
        for target in [FILE, Target::PseudoRoot] {
            assert_eq!(KEY.open(&KEY.seal(target)), Some(target));
        }
    }

    #[test]
    fn a_handle_with_any_bit_changed_is_refused() {
        let handle = KEY.seal(FILE);
        for bit in 0..8 * HANDLE_BYTES {
            let mut forged = handle;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(KEY.open(&forged), None, "bit {bit}");
        }
    }

    #[test]
    fn handles_of_other_keys_and_lengths_are_refused() {
        let handle = KEY.seal(FILE);
        assert_eq!(HandleKey::new([8; 16]).open(&handle), None);
        assert_eq!(KEY.open(&[]), None);
        assert_eq!(KEY.open(&handle[..31]), None);
        assert_eq!(KEY.open(&[&handle[..], &[0]].concat()), None);
    }
}
