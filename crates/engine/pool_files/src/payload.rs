//! Data of a write as one buffer.

use bytes::{Bytes, BytesMut};
use vfs::Payload;

/// Payload that was joined last. Attempts of one transaction name the same one, and the pool must get the same buffer.
#[derive(Debug, Default)]
pub(crate) struct Joined(Option<(Payload, Bytes)>);

impl Joined {
    /// The payload as one buffer; without a copy if it is one piece.
    pub(crate) fn join(&mut self, payload: Payload) -> Bytes {
        if let [piece] = payload.pieces() {
            return piece.clone();
        }
        match &self.0 {
            Some((known, joined)) if is_same(known, &payload) => joined.clone(),
            _ => {
                let mut all = BytesMut::with_capacity(usize::try_from(payload.length_bytes()).unwrap_or(0));
                payload.pieces().iter().for_each(|piece| all.extend_from_slice(piece));
                let joined = all.freeze();
                self.0 = Some((payload, joined.clone()));
                joined
            }
        }
    }
}

/// True if both consist of the same memory. The known one is held, so that its memory is not used for anything else.
fn is_same(known: &Payload, payload: &Payload) -> bool {
    let place = |piece: &Bytes| (piece.as_ptr(), piece.len());
    known.pieces().iter().map(place).eq(payload.pieces().iter().map(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_joined_once() {
        let pieces = [Bytes::from(vec![1; 10]), Bytes::from(vec![2; 5])];
        let payload: Payload = pieces.clone().into_iter().collect();
        let mut joined = Joined::default();
        let first = joined.join(payload.clone());
        assert_eq!(first, [&[1; 10][..], &[2; 5]].concat());
        assert_eq!(joined.join(payload).as_ptr(), first.as_ptr());
        let other: Payload = [pieces[0].clone(), Bytes::from(vec![3; 5])].into_iter().collect();
        assert_eq!(joined.join(other), [&[1; 10][..], &[3; 5]].concat());
        assert_eq!(joined.join(pieces[1].clone().into()).as_ptr(), pieces[1].as_ptr());
    }
}
