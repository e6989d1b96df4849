use super::*;
use hex_literal::hex;

#[test]
fn pages_are_listed() {
    let array = Array::new();
    let data = array.lun0().command(&hex!("4d 00 40 00 00 0000 00ff 00")).data_in;
    assert_eq!(data.as_ref(), hex!("00 00 0003 00 0c 2f"));
    let data = array.lun0().command(&hex!("4d 00 40 ff 00 0000 00ff 00")).data_in;
    assert_eq!(data.as_ref(), hex!("40 ff 000c 0000 00ff 0c00 0cff 2f00 2fff"));
    let data = array.lun0().command(&hex!("4d 00 4c ff 00 0000 00ff 00")).data_in;
    assert_eq!(data.as_ref(), hex!("4c ff 0004 0c00 0cff"));
}

#[test]
fn resources_are_counted_in_threshold_sets() {
    let array = Array::new();
    let page = || array.lun0().command(&hex!("4d 00 4c 00 00 0000 00ff 00")).data_in;
    assert_eq!(page().as_ref(), hex!("0c 00 0018 0001 03 08 00001400 02 000000 0002 03 08 00000000 01 000000"));
    array.lun0().write(0, &pattern(1, 1));
    assert_eq!(page()[20..24], hex!("00000001"));
    array.volumes[0].set_full(true);
    assert_eq!(page()[8..12], hex!("00000000"));
    let from_second = array.lun0().command(&hex!("4d 00 4c 00 00 0002 00ff 00")).data_in;
    assert_eq!(from_second[..8], hex!("0c 00 000c 0002 03 08"));
    let cut = array.lun0().command(&hex!("4d 00 4c 00 00 0000 0004 00")).data_in;
    assert_eq!(cut.as_ref(), hex!("0c 00 0018"));
}

#[test]
fn what_is_not_there_is_refused() {
    let array = Array::new();
    for (cdb, at) in [
        (hex!("4d 00 6f 01 00 0000 00ff 00"), 3),
        (hex!("4d 00 4d 00 00 0000 00ff 00"), 2),
        (hex!("4d 00 4c 00 00 0003 00ff 00"), 5),
        (hex!("4d 00 40 00 00 0001 00ff 00"), 5),
        (hex!("4d 01 4c 00 00 0000 00ff 00"), 1),
    ] {
        assert_field(&array.lun0().command(&cdb), true, at);
    }
    let exceptions = array.lun0().command(&hex!("4d 00 6f 00 00 0000 00ff 00")).data_in;
    assert_eq!(exceptions.as_ref(), hex!("2f 00 0008 0000 03 04 00 00 ff 00"));
}

/// Each nexus gets one unit attention for a threshold, on the volume's LUN only.
#[test]
fn a_soft_threshold_is_a_unit_attention() {
    let array = Array::new();
    array.target.soft_threshold_reached(Some(VolumeId(10)));
    for nexus in [array.a, array.a2, array.b] {
        assert_good(&array.on(nexus, 1).command(&[0; 6]));
        assert_check(&array.on(nexus, 0).command(&[0; 6]), 0x06, 0x38, 0x07);
        assert_good(&array.on(nexus, 0).command(&[0; 6]));
    }
    array.target.soft_threshold_reached(None);
    assert_check(&array.on(array.a, 1).command(&[0; 6]), 0x06, 0x38, 0x07);
}

/// Changed thresholds are changed mode parameters: on the volume's LUN or, for thresholds of the
/// pool, on all.
#[test]
fn thresholds_that_were_set_are_a_unit_attention() {
    let array = Array::new();
    array.target.thresholds_changed(Some(VolumeId(10)));
    for nexus in [array.a, array.a2, array.b] {
        assert_good(&array.on(nexus, 1).command(&[0; 6]));
        assert_check(&array.on(nexus, 0).command(&[0; 6]), 0x06, 0x2a, 0x01);
        assert_good(&array.on(nexus, 0).command(&[0; 6]));
    }
    array.target.thresholds_changed(None);
    for lun in [0, 1] {
        assert_check(&array.on(array.a, lun).command(&[0; 6]), 0x06, 0x2a, 0x01);
    }
}
