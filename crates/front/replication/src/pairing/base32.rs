//! Base32 in the alphabet of Crockford: no letters that are taken for one another. Lower case and look-alikes are
//! read.

const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Writes bytes, the last letter filled up with zeros.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits) = (0_u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(held >> bits));
            held &= (1 << bits) - 1;
        }
    }
    if bits > 0 {
        text.push(letter(held << (5 - bits)));
    }
    text
}

/// Reads exactly `N` bytes; `None` for any other text.
pub(super) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = Vec::with_capacity(N);
    let (mut held, mut bits) = (0_u32, 0);
    for character in text.chars() {
        held = held << 5 | value(character)?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
            held &= (1 << bits) - 1;
        }
        if bytes.len() > N {
            return None;
        }
    }
    // No letter too many, and nothing in the bits that fill up the last one.
    (bits < 5 && held == 0).then_some(())?;
    bytes.try_into().ok()
}

fn letter(value: u32) -> char {
    let index = usize::try_from(value & 31).unwrap_or(0);
    LETTERS.get(index).copied().map_or('0', char::from)
}

fn value(character: char) -> Option<u32> {
    let letter = match character.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    let at = LETTERS.iter().position(|own| char::from(*own) == letter)?;
    u32::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    #[test]
    fn bytes_come_back_and_look_alikes_are_read() {
        let random = Random::new(1);
        for _ in 0..1000 {
            let mut bytes = [0; 13];
            random.fill(&mut bytes);
            let text = encode(&bytes);
            assert_eq!(text.len(), 21);
            assert_eq!(decode(&text), Some(bytes));
            assert_eq!(decode(&text.to_lowercase().replace('0', "o").replace('1', "l")), Some(bytes));
        }
        assert_eq!(encode(&[0xff; 16]), "ZZZZZZZZZZZZZZZZZZZZZZZZZW");
    }

    #[test]
    fn other_texts_are_none() {
        assert_eq!(decode::<5>("ZZZZZZZZ"), Some([0xff; 5]));
        for bad in ["", "ZZZZZZZ", "ZZZZZZZZZ", "ZZZZZZZZ0", "ZZZZZZZU", "ZZZZ ZZZ", "ZZZZZZZé", "ZZZZZZZZZZZZZZZZ"] {
            assert_eq!(decode::<5>(bad), None, "{bad}");
        }
        // The last letter has three bits too many.
        assert_eq!(decode::<1>("ZW"), Some([0xfe | 1]));
        assert_eq!(decode::<1>("ZZ"), None);
    }
}
