use super::*;
use crate::AccessError;
use hex_literal::hex;

const REPORT_LUNS: [u8; 12] = hex!("a0 00 00 000000 00004000 00 00");

#[test]
fn a_change_of_access_is_announced_once_and_cleared_by_report_luns() {
    let array = Array::new();
    array.target.set_access(VolumeId(12), Grant { initiator: Some("iqn.a".into()), lun: 2 }).unwrap();
    assert_check(&array.lun0().command(&[0; 6]), 0x06, 0x3f, 0x0e);
    assert_good(&array.lun0().command(&[0; 6]));
    assert_good(&array.on(array.b, 0).command(&[0; 6]));
    // On the second path the host sends REPORT LUNS first.
    let list = array.on(array.a2, 0).command(&REPORT_LUNS);
    assert_eq!(list.data_in.len(), 32);
    assert_good(&array.on(array.a2, 0).command(&[0; 6]));
    assert_good(&array.on(array.a2, 1).command(&[0; 6]));
}

#[test]
fn a_removed_unit_is_not_supported_on_every_path() {
    let array = Array::new();
    assert!(array.remove(VolumeId(11)));
    assert!(!array.remove(VolumeId(11)));
    for nexus in [array.a, array.a2, array.b] {
        assert_check(&array.on(nexus, 1).command(&cdb16(0x88, 0, 0, 1)), 0x05, 0x25, 0x00);
        assert_check(&array.on(nexus, 0).command(&[0; 6]), 0x06, 0x3f, 0x0e);
    }
}

#[test]
fn an_initiators_own_grant_goes_before_one_to_any() {
    let array = Array::new();
    array.target.set_access(VolumeId(12), Grant { initiator: Some("iqn.a".into()), lun: 0 }).unwrap();
    array.target.set_access(VolumeId(11), Grant { initiator: Some("iqn.a".into()), lun: 5 }).unwrap();
    let a: Vec<_> = array.target.luns_of("iqn.a").into_iter().collect();
    assert_eq!(a, [(0, VolumeId(12)), (5, VolumeId(11))]);
    let b: Vec<_> = array.target.luns_of("iqn.b").into_iter().collect();
    assert_eq!(b, [(0, VolumeId(10)), (1, VolumeId(11))]);
    assert!(array.target.revoke(VolumeId(12), Some("iqn.a")));
    assert!(!array.target.revoke(VolumeId(12), Some("iqn.a")));
    let a: Vec<_> = array.target.luns_of("iqn.a").into_iter().collect();
    assert_eq!(a, [(0, VolumeId(10)), (5, VolumeId(11))]);
}

#[test]
fn a_lun_has_one_volume() {
    let array = Array::new();
    let any = |lun| Grant { initiator: None, lun };
    assert_eq!(
        array.target.set_access(VolumeId(12), any(1)),
        Err(AccessError::LunInUse { lun: 1, volume: VolumeId(11) })
    );
    assert_eq!(array.target.set_access(VolumeId(99), any(9)), Err(AccessError::NoSuchVolume(VolumeId(99))));
    assert_eq!(array.target.set_access(VolumeId(12), any(0x4000)), Err(AccessError::LunTooLarge { lun: 0x4000 }));
    assert_eq!(array.target.set_access(VolumeId(12), any(300)), Ok(()));
    assert_eq!(array.target.grants(VolumeId(12)), [any(300)]);
    array.settle(array.a);
    let list = array.lun0().command(&REPORT_LUNS);
    assert_eq!(list.data_in[24..32], hex!("412c 000000000000"));
    assert_good(&array.on(array.a, 300).command(&[0; 6]));
}

#[test]
fn a_grant_moves_when_it_is_given_again() {
    let array = Array::new();
    array.target.set_access(VolumeId(11), Grant { initiator: None, lun: 7 }).unwrap();
    assert_check(&array.on(array.a, 1).command(&[0; 6]), 0x05, 0x25, 0x00);
    assert_check(&array.on(array.a, 7).command(&[0; 6]), 0x06, 0x3f, 0x0e);
    assert_good(&array.on(array.a, 7).command(&[0; 6]));
}

/// Bug: REGISTRATIONS PREEMPTED was lost when the LUN was revoked and granted again before the host
/// sent a command.
#[test]
fn unit_attentions_wait_for_a_unit_that_comes_back() {
    let array = Array::new();
    let any = |lun| Grant { initiator: None, lun };
    array.target.mode_parameters_changed(VolumeId(11));
    array.target.revoke(VolumeId(11), None);
    array.target.set_access(VolumeId(12), any(1)).unwrap();
    array.settle_lun(array.a, 1);
    array.target.set_access(VolumeId(11), any(5)).unwrap();
    // A direct change of the LUN keeps them as well.
    array.target.set_access(VolumeId(11), any(7)).unwrap();
    for nexus in [array.a, array.a2] {
        assert_check(&array.on(nexus, 7).command(&[0; 6]), 0x06, 0x2a, 0x01);
        assert_check(&array.on(nexus, 7).command(&[0; 6]), 0x06, 0x3f, 0x0e);
        assert_good(&array.on(nexus, 7).command(&[0; 6]));
    }
    // A new logical unit with the same volume does not inherit them.
    array.target.mode_parameters_changed(VolumeId(11));
    array.remove(VolumeId(11));
    array.target.add_logical_unit(crate::LogicalUnitConfig {
        unit: array.units.add(array.volumes[1].clone(), "another"),
        naa: naa(13),
        serial: "0000000d".into(),
        profile: Profile::default(),
    });
    array.target.set_access(VolumeId(11), any(7)).unwrap();
    assert_check(&array.on(array.a, 7).command(&[0; 6]), 0x06, 0x3f, 0x0e);
    assert_good(&array.on(array.a, 7).command(&[0; 6]));
}

#[test]
fn a_replaced_device_keeps_its_access() {
    let array = Array::new();
    array.lun0().write(0, &pattern(1, 1));
    assert!(array.replace_device(VolumeId(10), MemoryDevice::new(10, 64)));
    assert_check(&array.lun0().command(&[0; 6]), 0x06, 0x2a, 0x09);
    assert_eq!(array.lun0().read(0, 1), pattern(0, 1));
    assert!(!array.replace_device(VolumeId(99), MemoryDevice::new(99, 64)));
}
