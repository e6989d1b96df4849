//! Asymmetric access: commands permitted in each state, unit attentions of a change, REPORT and SET
//! TARGET PORT GROUPS.

use super::*;
use hex_literal::hex;
use unit::{AccessState, AccessStateError, StateOrigin};

const STATE_CHANGED: (u8, u8) = (0x2a, 0x06);

fn ports(groups: [u16; 2]) -> Vec<TargetPort> {
    (1..).zip(groups).map(|(id, group)| TargetPort { relative_identifier: id, portal_group_tag: id, group }).collect()
}

fn groups(states: [AccessState; 2]) -> Vec<TargetPortGroup> {
    (1..).zip(states).map(|(id, state)| TargetPortGroup { state, ..TargetPortGroup::new(id) }).collect()
}

/// Ports 1 and 2 in groups 1 and 2, both active; no unit attention is pending.
fn two_groups() -> Array {
    in_two_groups(Array::new())
}

fn in_two_groups(array: Array) -> Array {
    array.target.set_port_groups(ports([1, 2]), groups([AccessState::ActiveOptimized; 2]));
    for nexus in [array.a, array.a2, array.b] {
        array.settle(nexus);
    }
    array
}

fn set(array: &Array, states: [AccessState; 2]) {
    array.target.set_port_groups(ports([1, 2]), groups(states));
}

#[track_caller]
fn assert_attention(path: Path<'_>, (asc, ascq): (u8, u8)) {
    assert_check(&path.command(&[0; 6]), 0x06, asc, ascq);
}

#[test]
fn a_change_is_heard_once_by_every_nexus_on_every_unit() {
    let array = two_groups();
    set(&array, [AccessState::ActiveOptimized, AccessState::Standby]);
    for nexus in [array.a, array.a2, array.b] {
        for lun in [0, 1] {
            assert_attention(array.on(nexus, lun), STATE_CHANGED);
            assert_good(&array.on(nexus, lun).command(&[0; 6]));
        }
    }
    // Setting the same states again changes nothing.
    set(&array, [AccessState::ActiveOptimized, AccessState::Standby]);
    assert_good(&array.on(array.a2, 0).command(&[0; 6]));
}

/// ESXi probes a port in standby with TEST UNIT READY, INQUIRY, READ CAPACITY, MODE SENSE, REPORT LUNS, RESERVE and
/// RELEASE.
#[test]
fn states_let_through_what_the_standard_and_esxi_want() {
    let array = two_groups();
    let probes: [&[u8]; 7] = [
        &hex!("000000000000"),
        &hex!("120000006000"),
        &hex!("25000000000000000000"),
        &hex!("1a003f00ff00"),
        &hex!("a00000000000000001000000"),
        &hex!("160000000000"),
        &hex!("170000000000"),
    ];
    let reservations_in: [u8; 10] = hex!("5e000000000000010000");
    let groups_in: [u8; 12] = hex!("a30a00000000000001000000");
    let report_luns: [u8; 12] = hex!("a00000000000000001000000");
    let data = pattern(0x5a, 1);
    let cases = [
        (AccessState::Standby, 0x0b, true, true),
        (AccessState::Unavailable, 0x0c, true, false),
        (AccessState::Transitioning, 0x0a, false, false),
    ];
    for (state, ascq, probed, persistent) in cases {
        set(&array, [AccessState::ActiveOptimized, state]);
        let path = array.on(array.a2, 0);
        while path.command(&groups_in).status != GOOD {}
        for cdb in probes {
            let response = path.command(cdb);
            let always = cdb[0] == 0x12 || cdb[0] == 0xa0;
            if probed || always {
                assert_good(&Response { data_in: Bytes::new(), ..response });
            } else {
                assert_check(&response, 0x02, 0x04, ascq);
            }
        }
        for cdb in [&groups_in, &report_luns] {
            assert_eq!(path.command(cdb).status, GOOD, "{state:?}");
        }
        assert_eq!(path.command(&reservations_in).status == GOOD, persistent, "{state:?}");
        assert_check(&path.command(&cdb16(0x88, 0, 0, 1)), 0x02, 0x04, ascq);
        assert_check(&path.data_out(&cdb16(0x8a, 0, 0, 1), &data), 0x02, 0x04, ascq);
        assert_check(&path.compare_and_write(0, &data, &data), 0x02, 0x04, ascq);
        // The other port works.
        array.settle(array.a);
        array.lun0().write(0, &data);
    }
    set(&array, [AccessState::Standby, AccessState::ActiveNonOptimized]);
    array.settle(array.a2);
    array.on(array.a2, 0).write(0, &data);
}

#[test]
fn the_report_is_the_same_through_every_port() {
    let array = two_groups();
    let mut states = groups([AccessState::ActiveNonOptimized, AccessState::Standby]);
    states[0].preferred = true;
    states[1].origin = StateOrigin::Implicit;
    states.push(TargetPortGroup::new(9)); // group without a port
    array.target.set_port_groups(ports([1, 2]), states);
    for nexus in [array.a, array.a2] {
        array.settle(nexus);
        let path = array.on(nexus, 0);
        let short = path.command(&hex!("a30a00000000000001000000")).data_in;
        assert_eq!(short.to_vec(), hex!("00000018 81 8f 0001 00 00 00 01 00000001 02 8f 0002 00 02 00 01 00000002"));
        let extended = path.command(&hex!("a32a00000000000001000000")).data_in;
        assert_eq!(extended.get(..8), Some(&hex!("0000001c 103c0000")[..]));
        assert_eq!(extended.get(8..), short.get(4..));
    }
    let group_of = |nexus| {
        let page = array.on(nexus, 0).command(&hex!("12018301ff00")).data_in;
        let at = page.windows(4).position(|header| header == hex!("51950004")).unwrap();
        u16::from_be_bytes([page[at + 6], page[at + 7]])
    };
    assert_eq!((group_of(array.a), group_of(array.a2)), (1, 2));
}

#[test]
fn a_port_that_changes_its_group_has_other_inquiry_data() {
    let array = two_groups();
    array.target.set_port_groups(ports([1, 1]), groups([AccessState::ActiveOptimized; 2]));
    assert_attention(array.on(array.a2, 0), (0x3f, 0x03));
    assert_attention(array.on(array.a2, 0), STATE_CHANGED);
    assert_attention(array.on(array.a, 0), STATE_CHANGED);
    assert_good(&array.on(array.a, 0).command(&[0; 6]));
}

#[test]
fn a_transition_is_told_when_it_is_over_or_has_failed() {
    let array = two_groups();
    array.target.begin_port_group_transition(&[2]);
    assert_check(&array.on(array.a2, 0).command(&[0; 6]), 0x02, 0x04, 0x0a);
    assert_good(&array.on(array.a, 0).command(&[0; 6]));
    array.target.port_group_transition_failed();
    for nexus in [array.a, array.a2] {
        assert_attention(array.on(nexus, 0), (0x2a, 0x07));
        assert_good(&array.on(nexus, 0).command(&[0; 6]));
    }
    array.target.begin_port_group_transition(&[2]);
    set(&array, [AccessState::ActiveOptimized, AccessState::Unavailable]);
    assert_attention(array.on(array.a, 0), STATE_CHANGED);
    // A nexus that is attached later has the state of its port.
    let late = array.target.attach_nexus("iqn.c,i,0x1", "iqn.c", 2);
    array.settle(late);
    assert_check(&array.on(late, 0).command(&cdb16(0x88, 0, 0, 1)), 0x02, 0x04, 0x0c);
}

const SET: [u8; 12] = hex!("a40a00000000000000080000");

/// Applies requested states, or fails.
fn apply(
    array: &Array,
    states: &[(u16, AccessState)],
    answer: Result<(), AccessStateError>,
) -> Result<(), AccessStateError> {
    array.target.begin_port_group_transition(&states.iter().map(|(group, _)| *group).collect::<Vec<_>>());
    if answer.is_err() {
        array.target.port_group_transition_failed();
        return answer;
    }
    let mut all = groups([AccessState::ActiveOptimized; 2]);
    for group in &mut all {
        if let Some((_, state)) = states.iter().find(|(identifier, _)| *identifier == group.identifier) {
            group.state = *state;
            group.origin = StateOrigin::Explicit;
        }
    }
    array.target.set_port_groups(ports([1, 2]), all);
    Ok(())
}

#[test]
fn without_explicit_access_there_is_no_set() {
    let array = two_groups();
    assert_eq!(array.lun0().command(&hex!("120000006000")).data_in[5] & 0x30, 0x10);
    assert_check(&array.lun0().data_out(&SET, &hex!("00000000 02000002")), 0x05, 0x20, 0x00);
    let support = array.lun0().command(&hex!("a30c03a4000a000000ff0000")).data_in;
    assert_eq!(support[1] & 7, 1);
}

#[test]
fn an_initiator_sets_states_and_the_others_hear_of_it() {
    let array = Rc::new(in_two_groups(Array::explicit()));
    let answer = Rc::new(Cell::new(Ok(())));
    array.store.set_states.replace(Some({
        let (array, answer) = (Rc::downgrade(&array), Rc::clone(&answer));
        Box::new(move |states| apply(&array.upgrade().unwrap(), &states, answer.get()))
    }));
    let (a, a2) = (array.on(array.a, 0), array.on(array.a2, 0));
    assert_eq!(a.command(&hex!("120000006000")).data_in[5] & 0x30, 0x30);
    assert_eq!(a.command(&hex!("a30c03a4000a000000ff0000")).data_in[1] & 7, 3);

    assert_good(&a.data_out(&SET, &hex!("00000000 02000002")));
    assert_good(&a.command(&[0; 6]));
    assert_attention(a2, STATE_CHANGED);
    assert_attention(array.on(array.b, 1), STATE_CHANGED);
    assert_check(&a2.command(&cdb16(0x88, 0, 0, 1)), 0x02, 0x04, 0x0b);
    let report = a.command(&hex!("a30a00000000000001000000")).data_in;
    assert_eq!(report.get(16..22), Some(&hex!("02 8f 0002 00 01")[..]));

    // Requested through the standby port itself.
    assert_good(&a2.data_out(&SET, &hex!("00000000 00000002")));
    assert_attention(a, STATE_CHANGED);
    assert_good(&Response { data_in: Bytes::new(), transfer_bytes: 0, ..a2.command(&cdb16(0x88, 0, 0, 1)) });

    // These requests change nothing.
    let refused: [(&[u8], u8, u8, u8); 4] = [
        (&hex!("00000000 0e000002"), 0x05, 0x26, 0x00),
        (&hex!("00000000 0f000002"), 0x05, 0x26, 0x00),
        (&hex!("00000000 02000003"), 0x05, 0x26, 0x00),
        (&hex!("00000000 0200"), 0x05, 0x1a, 0x00),
    ];
    for (list, key, asc, ascq) in refused {
        let mut cdb = SET;
        cdb[9] = u8::try_from(list.len()).unwrap();
        assert_check(&a.data_out(&cdb, list), key, asc, ascq);
    }
    assert_good(&a.command(&hex!("a40a00000000000000000000")));
    answer.set(Err(AccessStateError::LastPath));
    assert_check(&a.data_out(&SET, &hex!("00000000 03000001")), 0x04, 0x67, 0x0a);
    for path in [a, a2] {
        assert_good(&path.command(&[0; 6]));
    }
}
