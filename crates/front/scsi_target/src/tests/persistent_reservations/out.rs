//! Response and effect of each service action.

use super::*;

/// Array where A, A2 and B are registered with keys 1, 2 and 3, and A has a reservation.
fn reserved(kind: u8) -> Array {
    let array = Array::new();
    for (nexus, key) in [(array.a, 1), (array.a2, 2), (array.b, 3)] {
        register(&array.on(nexus, 0), key);
    }
    assert_good(&out(&array.lun0(), RESERVE, kind, 1, 0));
    array
}

#[test]
fn register_makes_changes_and_ends_a_registration() {
    let array = Array::new();
    let a = array.lun0();
    assert_conflict(&out(&a, REGISTER, 0, 7, 1));
    assert_good(&out(&a, REGISTER, 0, 0, 0));
    assert_eq!(keys(&a), (0, vec![]));
    assert_good(&out(&a, REGISTER, 0, 0, 1));
    assert_conflict(&out(&a, REGISTER, 0, 0, 2));
    assert_good(&out(&a, REGISTER, 0xff, 1, 2));
    assert_eq!(keys(&a), (2, vec![2]));
    assert_good(&out(&a, REGISTER_AND_IGNORE, 0, 99, 3));
    assert_eq!(keys(&a), (3, vec![3]));
    assert_good(&out(&a, REGISTER, 0, 3, 0));
    assert_eq!(keys(&a), (4, vec![]));
    assert_good(&out(&a, REGISTER_AND_IGNORE, 0, 0, 0));
    assert_eq!(keys(&a), (4, vec![]));
    assert_eq!(keys(&array.on(array.a, 1)), (0, vec![]), "each logical unit has its own");
}

#[test]
fn the_parameter_list_has_24_bytes() {
    let array = Array::new();
    let a = array.lun0();
    for length in [0, 8, 23, 25, 32] {
        let list = vec![0; length];
        for service_action in REGISTER..=REGISTER_AND_IGNORE {
            assert_check(&reserve_out(&a, service_action, 1, &list), 0x05, 0x1a, 0x00);
        }
    }
    let huge = array.lun0().data_out(&out_cdb(REGISTER, 0, 1 << 20), &basic(0, 1, 0));
    assert_check(&huge, 0x05, 0x1a, 0x00);
    assert_eq!(keys(&a).1, []);
}

#[test]
fn a_scope_or_type_that_does_not_exist_is_pointed_at() {
    let array = Array::new();
    let a = array.lun0();
    register(&a, 1);
    for scope_and_type in (0..=0xff).filter(|byte| !TYPES.contains(byte)) {
        let response = out(&a, RESERVE, scope_and_type, 1, 0);
        assert_field(&response, true, 2);
        assert_eq!(response.sense[15] & 0x0f, if scope_and_type > 0x0f { 0x0f } else { 0x0b });
    }
    assert_eq!(reservation(&a), None);
}

#[test]
fn reserve_needs_a_key_and_a_free_logical_unit() {
    for kind in TYPES {
        let array = Array::new();
        let (a, b) = (array.lun0(), array.on(array.b, 0));
        assert_conflict(&out(&a, RESERVE, kind, 0, 0));
        register(&a, 1);
        register(&b, 2);
        assert_conflict(&out(&a, RESERVE, kind, 2, 0));
        assert_good(&out(&a, RESERVE, kind, 1, 0));
        assert_good(&out(&a, RESERVE, kind, 1, 0));
        let all = kind >= 7;
        assert_eq!(reservation(&a), Some((if all { 0 } else { 1 }, kind)));
        let again = out(&b, RESERVE, kind, 2, 0);
        if all {
            assert_good(&again)
        } else {
            assert_conflict(&again)
        }
        for other in TYPES.into_iter().filter(|other| *other != kind) {
            assert_conflict(&out(&a, RESERVE, other, 1, 0));
            assert_conflict(&out(&b, RESERVE, other, 2, 0));
        }
        assert_eq!(keys(&a).0, 2, "RESERVE does not count");
    }
}

#[test]
fn release_is_for_the_holder_and_tells_those_who_were_let_in() {
    for kind in TYPES {
        let array = reserved(kind);
        let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
        assert_conflict(&out(&a, RELEASE, kind, 9, 0));
        let other = if kind == 1 { 3 } else { 1 };
        assert_check(&out(&a, RELEASE, other, 1, 0), 0x05, 0x26, 0x04);
        assert_check(&out(&a, RELEASE, 0x10 | kind, 1, 0), 0x05, 0x26, 0x04);
        if kind < 7 {
            assert_good(&out(&b, RELEASE, other, 3, 0));
            assert_eq!(reservation(&a), Some((1, kind)), "B does not hold it");
        }
        assert_good(&out(&a, RELEASE, kind, 1, 0));
        assert_eq!(reservation(&a), None);
        assert_good(&out(&a, RELEASE, kind, 1, 0));
        let told = if kind >= 5 { RESERVATIONS_RELEASED } else { None };
        for path in [a2, b] {
            assert_eq!(attention(&path), told, "type {kind}");
            assert_eq!(attention(&path), None);
        }
        assert_eq!(attention(&a), None);
    }
}

#[test]
fn the_reservation_goes_with_its_holder_or_the_last_registrant() {
    for kind in TYPES {
        let array = reserved(kind);
        let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
        assert_good(&out(&a, REGISTER, 0, 1, 0));
        if kind >= 7 {
            assert_eq!(reservation(&a), Some((0, kind)));
            assert_eq!(attention(&b), None);
            register(&a2, 0);
            register(&b, 0);
            assert_eq!(attention(&a), None);
        } else {
            let told = if kind >= 5 { RESERVATIONS_RELEASED } else { None };
            assert_eq!((attention(&a2), attention(&b)), (told, told), "type {kind}");
        }
        assert_eq!(reservation(&a), None);
    }
}

#[test]
fn clear_ends_everything() {
    let array = reserved(6);
    let b = array.on(array.b, 0);
    assert_conflict(&out(&b, CLEAR, 0, 1, 0));
    assert_good(&out(&b, CLEAR, 0, 3, 0));
    assert_eq!((keys(&b), reservation(&b)), ((4, vec![]), None));
    for nexus in [array.a, array.a2] {
        assert_eq!(attention(&array.on(nexus, 0)), RESERVATIONS_PREEMPTED);
        assert_eq!(attention(&array.on(nexus, 0)), None);
    }
    assert_eq!(attention(&b), None);
    assert_conflict(&out(&b, CLEAR, 0, 3, 0));
}

#[test]
fn preempt_takes_the_reservation_over() {
    for (before, after) in TYPES.into_iter().filter(|kind| *kind < 7).flat_map(|b| TYPES.map(|a| (b, a))) {
        let array = reserved(before);
        let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
        assert_conflict(&out(&b, PREEMPT, after, 9, 1));
        assert_field(&out(&b, PREEMPT, 0x10 | after, 3, 1), true, 2);
        assert_field(&out(&b, PREEMPT, after, 3, 0), false, 8);
        assert_good(&out(&b, PREEMPT, after, 3, 1));
        assert_eq!(keys(&b), (4, vec![3, 2]));
        assert_eq!(reservation(&b), Some((if after >= 7 { 0 } else { 3 }, after)));
        assert_eq!(attention(&a), REGISTRATIONS_PREEMPTED);
        assert_eq!(attention(&a2), if before == after { None } else { RESERVATIONS_RELEASED });
        assert_eq!((attention(&a), attention(&a2), attention(&b)), (None, None, None));
    }
}

#[test]
fn preempt_of_another_key_leaves_the_reservation() {
    let array = reserved(5);
    let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
    assert_conflict(&out(&b, PREEMPT, 0, 3, 77));
    assert_good(&out(&b, PREEMPT, 0xff, 3, 2));
    assert_eq!((keys(&b).1, reservation(&b)), (vec![1, 3], Some((1, 5))));
    assert_eq!((attention(&a), attention(&a2), attention(&b)), (None, REGISTRATIONS_PREEMPTED, None));
    // With its own key, the nexus unregisters itself and gets no unit attention.
    assert_good(&out(&b, PREEMPT, 0, 3, 3));
    assert_eq!(keys(&b).1, [1]);
    assert_eq!(attention(&b), None);
}

#[test]
fn the_holder_preempts_itself_into_another_type() {
    let array = reserved(1);
    register(&array.on(array.b, 0), 1);
    assert_good(&out(&array.lun0(), PREEMPT, 6, 1, 1));
    assert_eq!((keys(&array.lun0()).1, reservation(&array.lun0())), (vec![1, 2], Some((1, 6))));
    assert_eq!(attention(&array.on(array.b, 0)), REGISTRATIONS_PREEMPTED);
    assert_eq!(attention(&array.on(array.a2, 0)), RESERVATIONS_RELEASED);
}

#[test]
fn with_all_registrants_key_0_preempts_everybody_else() {
    for kind in [7, 8] {
        let array = reserved(kind);
        let (a, a2, b) = (array.lun0(), array.on(array.a2, 0), array.on(array.b, 0));
        assert_good(&out(&b, PREEMPT, 0, 3, 2));
        assert_eq!(reservation(&b), Some((0, kind)));
        assert_eq!(attention(&a2), REGISTRATIONS_PREEMPTED);
        assert_good(&out(&b, PREEMPT, 1, 3, 0));
        assert_eq!((keys(&b).1, reservation(&b)), (vec![3], Some((3, 1))));
        assert_eq!((attention(&a), attention(&b)), (REGISTRATIONS_PREEMPTED, None));
        assert_good(&out(&b, PREEMPT, kind, 3, 3));
        assert_good(&out(&b, PREEMPT, 0, 3, 3));
        assert_eq!((keys(&b).1, reservation(&b)), (vec![], None), "the last registrant took itself away");
    }
}

fn with_transport_ids(key: u64, service_action_key: u64, flags: u8, ids: &[Vec<u8>]) -> Vec<u8> {
    let ids = ids.concat();
    let length = u32::try_from(ids.len()).unwrap().to_be_bytes();
    [basic(key, service_action_key, flags), length.to_vec(), ids].concat()
}

#[test]
fn specified_initiator_ports_are_registered_with_the_sender() {
    let array = Array::new();
    let (a, b) = (array.lun0(), array.on(array.b, 0));
    register(&b, 3);
    let ids = [transport_id("iqn.b,i,0x1"), transport_id("iqn.absent,i,0x77")];
    assert_good(&reserve_out(&a, REGISTER, 0, &with_transport_ids(0, 1, 0x08, &ids)));
    let mut found = keys(&a).1;
    found.sort_unstable();
    assert_eq!(found, [1, 1, 3], "B had a key already");
    // SPEC_I_PT is refused from a nexus that is registered and from one that unregisters.
    let again = reserve_out(&a, REGISTER, 0, &with_transport_ids(1, 2, 0x08, &ids));
    assert_field(&again, false, 20);
    assert_field(&reserve_out(&array.on(array.a2, 0), REGISTER, 0, &with_transport_ids(0, 0, 0x08, &ids)), false, 20);
    for service_action in RESERVE..=REGISTER_AND_IGNORE {
        let list = with_transport_ids(1, 2, 0x08, &ids);
        assert_field(&reserve_out(&a, service_action, 1, &list), false, 20);
    }
    // The absent port has its registration when it logs in.
    let absent = array.target.attach_nexus("iqn.absent,i,0x000000000077", "iqn.absent", 1);
    array.settle(absent);
    assert_good(&out(&array.on(absent, 0), REGISTER, 0, 1, 5));
}

#[test]
fn a_device_stands_for_its_ports_that_are_logged_in() {
    let array = Array::new();
    let b = array.on(array.b, 0);
    let device = |name: &str| TransportId::Device(name.into()).encode();
    assert_good(&reserve_out(&b, REGISTER, 0, &with_transport_ids(0, 9, 0x0c, &[device("IQN.A")])));
    // Ports 1 and 2 of A and port 1 of B, each with both target ports.
    assert_eq!(keys(&b).1, [9; 6]);
    assert_good(&out(&b, CLEAR, 0, 9, 0));
    let list = with_transport_ids(0, 9, 0x08, &[device("iqn.a"), device("iqn.nobody")]);
    let response = reserve_out(&b, REGISTER, 0, &list);
    assert_field(&response, false, u16::try_from(28 + device("iqn.a").len()).unwrap());
    assert_eq!(keys(&b).1, []);
}

#[test]
fn transport_ids_that_are_none_change_nothing() {
    let array = Array::new();
    let a = array.lun0();
    let good = transport_id("iqn.b,i,0x1");
    let mut wrong = good.clone();
    wrong[0] = 0x46;
    let response = reserve_out(&a, REGISTER, 0, &with_transport_ids(0, 1, 0x08, &[good.clone(), wrong]));
    assert_field(&response, false, u16::try_from(28 + good.len()).unwrap());
    let list = with_transport_ids(0, 1, 0x08, &[good]);
    assert_check(&reserve_out(&a, REGISTER, 0, &list[..list.len() - 4]), 0x05, 0x1a, 0x00);
    assert_check(&reserve_out(&a, REGISTER, 0, &basic(0, 1, 0x08)), 0x05, 0x1a, 0x00);
    assert_eq!(keys(&a), (0, vec![]));
}

#[test]
fn all_target_ports_are_one_registration_each() {
    let array = Array::new();
    let a = array.lun0();
    assert_good(&reserve_out(&a, REGISTER, 0, &basic(0, 1, 0x04)));
    assert_eq!(keys(&a), (1, vec![1, 1]));
    // Same initiator port through the other target port.
    let other = array.target.attach_nexus("iqn.a,i,0x1", "iqn.a", 2);
    array.settle(other);
    assert_good(&out(&array.on(other, 0), REGISTER, 0, 1, 2));
    assert_conflict(&reserve_out(&a, REGISTER, 0, &basic(1, 5, 0x04)));
    assert_good(&reserve_out(&a, REGISTER_AND_IGNORE, 0, &basic(1, 5, 0x04)));
    assert_eq!(keys(&a).1, [5, 5]);
    assert_good(&reserve_out(&a, REGISTER, 0, &basic(5, 0, 0x04)));
    assert_eq!(keys(&a).1, []);
}

#[test]
fn registrations_are_limited() {
    let array = Array::with(Profile::default(), Limits { registrations: 2, ..Limits::default() });
    register(&array.lun0(), 1);
    let list = with_transport_ids(0, 1, 0x08, &[transport_id("x,i,0x1"), transport_id("y,i,0x1")]);
    assert_check(&reserve_out(&array.on(array.a2, 0), REGISTER, 0, &list), 0x05, 0x55, 0x04);
    assert_eq!(keys(&array.lun0()), (1, vec![1]));
    register(&array.on(array.a2, 0), 2);
    register(&array.on(array.a2, 0), 3);
    assert_check(&out(&array.on(array.b, 0), REGISTER, 0, 0, 9), 0x05, 0x55, 0x04);
}

fn move_list(key: u64, service_action_key: u64, flags: u8, port: u16, id: &[u8]) -> Vec<u8> {
    let length = u32::try_from(id.len()).unwrap().to_be_bytes();
    let [high, low] = port.to_be_bytes();
    [&key.to_be_bytes()[..], &service_action_key.to_be_bytes(), &[0, flags, high, low], &length, id].concat()
}

#[test]
fn register_and_move_gives_the_reservation_to_another() {
    for kind in [1, 3, 5, 6] {
        let array = reserved(kind);
        let (a, b) = (array.lun0(), array.on(array.b, 0));
        let to_b = transport_id("iqn.b,i,0x1");
        let list = |key| move_list(key, 44, 0x00, 1, &to_b);
        assert_conflict(&reserve_out(&a, REGISTER_AND_MOVE, 0, &list(9)));
        assert_conflict(&reserve_out(&b, REGISTER_AND_MOVE, 0, &list(3)));
        assert_good(&reserve_out(&a, REGISTER_AND_MOVE, 0, &list(1)));
        assert_eq!((keys(&a), reservation(&a)), ((4, vec![1, 44, 2]), Some((44, kind))));
        let back = move_list(44, 55, 0x02, 2, &transport_id("new,i,0xabc"));
        assert_good(&reserve_out(&b, REGISTER_AND_MOVE, 0, &back));
        assert_eq!((keys(&a), reservation(&a)), ((5, vec![1, 2, 55]), Some((55, kind))), "UNREG");
        assert_eq!((attention(&a), attention(&b)), (None, None));
    }
}

#[test]
fn register_and_move_checks_where_to() {
    let array = Array::new();
    let a = array.lun0();
    let to_b = transport_id("iqn.b,i,0x1");
    register(&a, 1);
    assert_field(&reserve_out(&a, REGISTER_AND_MOVE, 0, &move_list(1, 2, 0, 1, &to_b)), true, 1);
    assert_good(&out(&a, RESERVE, 5, 1, 0));
    let mut other_protocol = to_b.clone();
    other_protocol[0] = 0x40;
    let device = |name: &str| TransportId::Device(name.into()).encode();
    for (list, byte) in [
        (move_list(1, 0, 0, 1, &to_b), 8),
        (move_list(1, 2, 0, 3, &to_b), 18),
        (move_list(1, 2, 0, 1, &other_protocol), 24),
        (move_list(1, 2, 0, 1, &[]), 24),
        (move_list(1, 2, 0, 1, &transport_id("iqn.a,i,0x1")), 24),
        (move_list(1, 2, 0, 1, &device("iqn.a")), 24),
        (move_list(1, 2, 0, 1, &device("iqn.nobody")), 24),
    ] {
        assert_field(&reserve_out(&a, REGISTER_AND_MOVE, 0, &list), false, byte);
    }
    let list = move_list(1, 2, 0, 1, &to_b);
    for length in [0, 23, list.len() - 1] {
        assert_check(&reserve_out(&a, REGISTER_AND_MOVE, 0, &list[..length]), 0x05, 0x1a, 0x00);
    }
    assert_good(&reserve_out(&a, REGISTER_AND_MOVE, 0, &move_list(1, 2, 0, 1, &device("iqn.b"))));
    assert_eq!(reservation(&a), Some((2, 5)));

    for kind in [7, 8] {
        let array = reserved(kind);
        assert_conflict(&reserve_out(&array.lun0(), REGISTER_AND_MOVE, 0, &list));
    }
}

#[test]
fn registrations_outlive_sessions_and_resets() {
    let array = reserved(3);
    array.target.detach_nexus(array.a);
    assert_eq!(array.target.logical_unit_reset(array.b, [0; 8]), Ok(VolumeId(10)));
    array.target.target_reset(array.a);
    array.settle(array.b);
    assert_conflict(&array.on(array.b, 0).command(&cdb16(0x88, 0, 0, 1)));
    let again = array.target.attach_nexus("IQN.a,i,0x000000000001", "iqn.a", 1);
    array.settle(again);
    array.on(again, 0).write(0, &pattern(1, 1));
    // Same initiator port through another target port: another nexus.
    let other = array.target.attach_nexus("iqn.a,i,0x1", "iqn.a", 2);
    array.settle(other);
    assert_conflict(&array.on(other, 0).command(&cdb16(0x88, 0, 0, 1)));
}
