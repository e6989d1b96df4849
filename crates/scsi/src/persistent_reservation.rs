//! Parameter data of PERSISTENT RESERVE IN, SPC-4 §6.15.

/// Parameter data of READ KEYS, READ RESERVATION and READ FULL STATUS (SPC-4 §6.15.2, §6.15.3, §6.15.5): PRGENERATION, ADDITIONAL
/// LENGTH, then keys or descriptors as they are. None of them stands for "nobody": no registration, no reservation.
pub fn status(generation: u32, descriptors: &[u8]) -> Vec<u8> {
    let length = u32::try_from(descriptors.len()).unwrap_or(u32::MAX);
    [&generation.to_be_bytes()[..], &length.to_be_bytes(), descriptors].concat()
}

/// REPORT CAPABILITIES parameter data (SPC-4 §6.15.4). `types` is the PERSISTENT RESERVATION TYPE MASK; it is valid (TMV = 1). All
/// capabilities that are bits of their own (CRH, SIP_C, ATP_C, PTPL_C, PTPL_A) are 0, and so is ALLOW COMMANDS.
pub fn capabilities(types: u16) -> Vec<u8> {
    const TYPE_MASK_VALID: u8 = 0x80;
    let [high, low] = types.to_be_bytes();
    vec![0x00, 0x08, 0x00, TYPE_MASK_VALID, high, low, 0x00, 0x00]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn additional_length_counts_what_follows_it() {
        assert_eq!(status(0, &[]), hex!("00000000 00000000"));
        assert_eq!(status(7, &hex!("0102030405060708")), hex!("00000007 00000008 0102030405060708"));
    }

    #[test]
    fn capabilities_are_eight_bytes() {
        assert_eq!(capabilities(0), hex!("0008 00 80 0000 0000"));
        assert_eq!(capabilities(0xea01), hex!("0008 00 80 ea01 0000"));
    }
}
