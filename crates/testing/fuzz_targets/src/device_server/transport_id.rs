//! TransportIDs (SPC-4 §7.6.4.6), initiator port names and the parameter lists of PERSISTENT RESERVE OUT; LUN fields.

use scsi::LogicalUnitNumber;
use scsi::persistent_reservation::{Basic, InitiatorPort, MoveTarget, RegisterAndMove, TransportId};

/// Input: bytes that are decoded as each of them.
pub(crate) fn run(input: &[u8]) {
    if let Ok((id, length)) = TransportId::parse(input) {
        assert!((24..=input.len()).contains(&length) && length.is_multiple_of(4));
        let encoded = id.encode();
        assert_eq!(TransportId::parse(&encoded), Ok((id, encoded.len())), "a TransportID changes when it is written");
    }
    if let Ok(text) = std::str::from_utf8(input)
        && let Some(port) = InitiatorPort::parse(text)
    {
        assert_eq!(InitiatorPort::parse(&port.to_string()), Some(port), "a name changes when it is written");
    }
    if Basic::parse(input).is_some()
        && let Ok(ids) = Basic::transport_ids(input)
    {
        assert!(ids.len() <= input.len() / 24);
    }
    if let Some(list) = RegisterAndMove::parse(input)
        && let MoveTarget::Invalid(at) = list.target
    {
        assert!(at <= input.len(), "an error points outside of the list");
    }
    if let Some((field, _)) = input.split_first_chunk::<8>()
        && let Some(lun) = LogicalUnitNumber::decode(*field)
    {
        assert_eq!(LogicalUnitNumber::decode(lun.encode()), Some(lun));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let device = TransportId::Device("iqn.2026-01.org.example:host".into()).encode();
    let name = "iqn.2026-01.org.example:host,i,0x00023d000001";
    let port = InitiatorPort::parse(name).map(|port| TransportId::Port(port).encode()).unwrap_or_default();
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes();
    let both = [&device[..], &port].concat();
    let register = [&[0; 8][..], &[1; 8], &[0, 0, 0, 0, 0x0D, 0, 0, 0], &length(&both), &both].concat();
    let to = [&[1; 8][..], &[2; 8], &[0, 3, 0, 1], &length(&port), &port].concat();
    vec![device, port, name.as_bytes().to_vec(), register, to, LogicalUnitNumber(300).encode().to_vec()]
}
