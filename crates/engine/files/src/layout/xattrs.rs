//! Extended attributes of a file, as stored in their region: for each, length of the name 1, length of the value 4,
//! name, value; ascending by name.

use bytes::Bytes;
use std::collections::BTreeMap;
use vfs::XattrName;

const HEAD: usize = 5;

/// Extended attributes of one file.
pub(crate) type Xattrs = BTreeMap<XattrName, Bytes>;

/// Decodes what a region holds. `Err`: damaged.
pub(crate) fn decode(stored: &Bytes) -> Result<Xattrs, ()> {
    let (mut xattrs, mut at) = (Xattrs::new(), 0);
    while at < stored.len() {
        let head = stored.get(at..at + HEAD).ok_or(())?;
        let name_bytes = usize::from(head[0]);
        let value_bytes = u32::from_le_bytes(head[1..].try_into().map_err(|_| ())?) as usize;
        let (name_at, value_at) = (at + HEAD, at + HEAD + name_bytes);
        let end = value_at.checked_add(value_bytes).filter(|end| *end <= stored.len()).ok_or(())?;
        let name = XattrName::new(stored.slice(name_at..value_at)).map_err(|_| ())?;
        if xattrs.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return Err(());
        }
        xattrs.insert(name, stored.slice(value_at..end));
        at = end;
    }
    Ok(xattrs)
}

/// Encodes the attributes.
pub(crate) fn encode(xattrs: &Xattrs) -> Bytes {
    let mut stored = Vec::new();
    for (name, value) in xattrs {
        stored.push(name.as_bytes().len() as u8);
        stored.extend_from_slice(&(value.len() as u32).to_le_bytes());
        stored.extend_from_slice(name.as_bytes());
        stored.extend_from_slice(value);
    }
    stored.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_what_was_stored() {
        let name = |text: &str| XattrName::try_from(text).unwrap_or_else(|error| panic!("{error}"));
        let xattrs = Xattrs::from([(name("b"), Bytes::from_static(b"\0x")), (name("a"), Bytes::new())]);
        let stored = encode(&xattrs);
        assert_eq!(stored[..], *b"\x01\0\0\0\0a\x01\x02\0\0\0b\0x");
        assert_eq!(decode(&stored), Ok(xattrs));
        assert_eq!(decode(&Bytes::new()), Ok(Xattrs::new()));
    }

    #[test]
    fn damage_is_noticed() {
        for bad in [
            &b"\x01\0\0\0"[..],
            b"\x01\xff\xff\xff\xffa",
            b"\0\0\0\0\0",
            b"\x01\0\0\0\0b\x01\0\0\0\0a",
            b"\x01\0\0\0\0a\x01\0\0\0\0a",
            b"\x01\0\0\0\0\0",
        ] {
            assert_eq!(decode(&Bytes::copy_from_slice(bad)), Err(()));
        }
    }
}
