//! Validated names: of directory entries, of extended attributes, and targets of symbolic links. A
//! value of these types needs no further check. Names are compared byte by byte: no case folding, no
//! Unicode normalisation.

use bytes::Bytes;
use std::fmt;
use thiserror::Error;

/// Longest name of a directory entry or extended attribute, in bytes.
pub const NAME_BYTES: usize = 255;

/// Longest target of a symbolic link, in bytes.
pub const TARGET_BYTES: usize = 4095;

/// Reason why bytes are no name.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// No bytes.
    #[error("the name is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("the name has {bytes} bytes, and the limit is {limit_bytes}")]
    TooLong {
        /// Length of the name.
        bytes: usize,
        /// [`NAME_BYTES`] or [`TARGET_BYTES`].
        limit_bytes: usize,
    },
    /// Not UTF-8, under [`Encoding::Utf8`].
    #[error("the name is not valid UTF-8")]
    NotUtf8,
    /// A slash or a NUL.
    #[error("the name contains a slash or a NUL")]
    BadCharacter,
    /// `.` or `..`: the caller resolves them, and a file system stores neither.
    #[error("the name is `.` or `..`")]
    Dots,
}

/// Bytes that a name may have, apart from slash and NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Valid UTF-8 only.
    Utf8,
    /// Any bytes, for protocols whose names have no encoding.
    Any,
}

/// Name of a directory entry: 1 to [`NAME_BYTES`] bytes without slash and NUL, neither `.` nor `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Bytes);

impl Name {
    /// Checks the bytes, which stay where they are: the name refers to the buffer it came in.
    pub fn new(bytes: Bytes, encoding: Encoding) -> Result<Self, NameError> {
        check(&bytes, NAME_BYTES, encoding)?;
        if bytes.contains(&b'/') || bytes.contains(&0) {
            return Err(NameError::BadCharacter);
        }
        if matches!(&bytes[..], b"." | b"..") {
            return Err(NameError::Dots);
        }
        Ok(Self(bytes))
    }

    /// Bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name as text; `None` if it is not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Copy with its own buffer, for names that are kept: the original keeps a whole receive buffer
    /// in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), to)
    }
}

impl TryFrom<&str> for Name {
    type Error = NameError;

    fn try_from(text: &str) -> Result<Self, NameError> {
        Self::new(Bytes::copy_from_slice(text.as_bytes()), Encoding::Utf8)
    }
}

/// Name of an extended attribute, without a prefix for its name space: 1 to [`NAME_BYTES`] bytes of
/// UTF-8 without NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct XattrName(Bytes);

impl XattrName {
    /// Checks the bytes, which stay where they are.
    pub fn new(bytes: Bytes) -> Result<Self, NameError> {
        check(&bytes, NAME_BYTES, Encoding::Utf8)?;
        if bytes.contains(&0) { Err(NameError::BadCharacter) } else { Ok(Self(bytes)) }
    }

    /// Bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Copy with its own buffer; see [`Name::detached`].
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

impl fmt::Debug for XattrName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), to)
    }
}

impl TryFrom<&str> for XattrName {
    type Error = NameError;

    fn try_from(text: &str) -> Result<Self, NameError> {
        Self::new(Bytes::copy_from_slice(text.as_bytes()))
    }
}

/// Target of a symbolic link: 1 to [`TARGET_BYTES`] bytes without NUL. Nothing else is known about
/// it: clients resolve it.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkTarget(Bytes);

impl LinkTarget {
    /// Checks the bytes, which stay where they are.
    pub fn new(bytes: Bytes) -> Result<Self, NameError> {
        check(&bytes, TARGET_BYTES, Encoding::Any)?;
        if bytes.contains(&0) { Err(NameError::BadCharacter) } else { Ok(Self(bytes)) }
    }

    /// Bytes of the target.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for LinkTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), to)
    }
}

fn check(bytes: &[u8], limit_bytes: usize, encoding: Encoding) -> Result<(), NameError> {
    if bytes.is_empty() {
        return Err(NameError::Empty);
    }
    if bytes.len() > limit_bytes {
        return Err(NameError::TooLong { bytes: bytes.len(), limit_bytes });
    }
    if encoding == Encoding::Utf8 && std::str::from_utf8(bytes).is_err() {
        return Err(NameError::NotUtf8);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8], encoding: Encoding) -> Result<Name, NameError> {
        Name::new(Bytes::copy_from_slice(bytes), encoding)
    }

    #[test]
    fn a_name_has_1_to_255_bytes() {
        assert_eq!(name(b"", Encoding::Utf8), Err(NameError::Empty));
        assert!(name(&[b'a'; 255], Encoding::Utf8).is_ok());
        assert_eq!(name(&[b'a'; 256], Encoding::Any), Err(NameError::TooLong { bytes: 256, limit_bytes: 255 }));
        assert!(XattrName::new(Bytes::from(vec![b'a'; 255])).is_ok());
        assert!(XattrName::new(Bytes::from(vec![b'a'; 256])).is_err());
        assert!(LinkTarget::new(Bytes::from(vec![b'a'; 4095])).is_ok());
        assert!(LinkTarget::new(Bytes::from(vec![b'a'; 4096])).is_err());
        assert_eq!(LinkTarget::new(Bytes::new()), Err(NameError::Empty));
    }

    #[test]
    fn dots_alone_are_no_name_and_more_of_them_are() {
        assert_eq!(name(b".", Encoding::Any), Err(NameError::Dots));
        assert_eq!(name(b"..", Encoding::Utf8), Err(NameError::Dots));
        for fine in ["...", ".a", "..a", "a.", " "] {
            assert_eq!(
                name(fine.as_bytes(), Encoding::Utf8).map(|name| name.as_text().map(str::to_owned)),
                Ok(Some(fine.to_owned()))
            );
        }
    }

    #[test]
    fn a_name_has_neither_slash_nor_nul() {
        for encoding in [Encoding::Utf8, Encoding::Any] {
            assert_eq!(name(b"a/b", encoding), Err(NameError::BadCharacter));
            assert_eq!(name(b"a\0", encoding), Err(NameError::BadCharacter));
            assert_eq!(name(b"/", encoding), Err(NameError::BadCharacter));
        }
        // An attribute's name may have slashes, and a target consists of them.
        assert!(XattrName::try_from("a/b").is_ok() && XattrName::try_from("a\0b").is_err());
        assert!(LinkTarget::new(Bytes::from_static(b"/a/../b")).is_ok());
        assert_eq!(LinkTarget::new(Bytes::from_static(b"a\0")), Err(NameError::BadCharacter));
    }

    #[test]
    fn other_encodings_than_utf_8_are_names_only_where_any_byte_is() {
        for bytes in [&b"\xff"[..], b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf"] {
            assert_eq!(name(bytes, Encoding::Utf8), Err(NameError::NotUtf8));
            assert_eq!(name(bytes, Encoding::Any).map(|name| name.as_text().is_none()), Ok(true));
            assert_eq!(XattrName::new(Bytes::copy_from_slice(bytes)), Err(NameError::NotUtf8));
        }
    }

    #[test]
    fn names_that_look_alike_are_different_names() {
        let (composed, decomposed) = (Name::try_from("\u{e4}"), Name::try_from("a\u{308}"));
        assert!(composed.is_ok() && composed != decomposed);
        assert_ne!(Name::try_from("a"), Name::try_from("A"));
    }
}
