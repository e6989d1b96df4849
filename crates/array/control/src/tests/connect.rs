//! Login attempts, and how far a host is in using a volume.

use super::*;
use unit::{Primitive, Reason};

/// A login attempt from 10.0.0.15 at the first portal.
fn knock(initiator: &str, outcome: LoginOutcome, discovery: bool) -> Knock {
    Knock {
        initiator: initiator.to_owned(),
        from: [10, 0, 0, 15].into(),
        portal: "192.0.2.10:3260".parse().unwrap(),
        discovery,
        outcome,
        detail: "detail",
    }
}

fn read<R: Read>(mirror: &Mirror, array: &Array, request: &R) -> R::Reply {
    block_on(array.control.publish_facts());
    mirror.read(request).unwrap()
}

#[test]
fn login_attempts_reach_readers_with_the_host_that_has_the_name_now() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    let add = |name, outcome| {
        let mut logins = array.live.logins.borrow_mut();
        logins.add(knock(name, outcome, false), false, array.control.environment().now());
    };
    add(ESX01, LoginOutcome::UnknownInitiator);
    add("iqn.x:other", LoginOutcome::Ok);
    let told = |list: &LoginList| {
        let rows = read(&mirror, &array, list).into_iter();
        rows.map(|row| (row.attempt.knock.initiator.clone(), row.host)).collect::<Vec<_>>()
    };
    let name = |name: &str, host: Option<&str>| (name.to_owned(), host.map(str::to_owned));
    assert_eq!(told(&LoginList::default()), [name("iqn.x:other", None), name(ESX01, None)], "newest first");
    let refused = LoginList { refused: true, ..LoginList::default() };
    assert_eq!(told(&refused), [name(ESX01, None)]);
    array.create_host("esx01", ESX01);
    assert_eq!(told(&refused), [name(ESX01, Some("esx01"))]);
    let of_host = LoginList { host: Some("esx01".to_owned()), ..LoginList::default() };
    assert_eq!(told(&of_host), [name(ESX01, Some("esx01"))]);
    let chap = LoginList { outcome: Some(LoginOutcome::ChapFailed), ..LoginList::default() };
    assert_eq!(told(&chap), []);
    add(ESX01, LoginOutcome::ChapFailed);
    assert_eq!(told(&chap), [name(ESX01, Some("esx01"))], "attempts after the mirror was made");
    let later = array.control.environment().now();
    let since = LoginList { since: Some(later), ..LoginList::default() };
    assert_eq!(told(&since), []);
}

#[test]
fn what_is_missing_is_said_until_a_host_can_use_a_volume() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    let volume = array.create("v1");
    array.create_host("esx01", ESX01);
    let show = ConnectShow { host: "esx01".to_owned(), volume: Some("v1".to_owned()) };
    let look = || read(&mirror, &array, &show);
    assert_eq!(look().missing, [Missing::Grant, Missing::Login]);
    array.grant("v1", Some("esx01"), Some(4)).unwrap();
    array.live.logins.borrow_mut().add(knock(ESX01, LoginOutcome::Ok, true), true, Timestamp::UNIX_EPOCH);
    let asked = look();
    assert_eq!((asked.lun, asked.missing.as_slice()), (Some(4), [Missing::Login].as_slice()));
    assert!(asked.discovery.is_some_and(|login| login.attempt.knock.discovery), "it asked for targets");
    array.log_in(7, ESX01);
    let logged_in = look();
    assert_eq!(logged_in.missing, [Missing::Capacity]);
    assert_eq!(logged_in.missing_portals, ["192.0.2.11:3260"]);
    assert_eq!((logged_in.paths.len(), logged_in.paths[0].portal.as_str()), (1, "192.0.2.10:3260"));

    let at = |second| Timestamp::from_second(second).unwrap();
    let unit = UnitSeen {
        object: volume.record.object,
        lun: 4,
        capacity: true,
        block_limits: true,
        provisioning: false,
        third_party_copy: false,
        transferred: true,
        succeeded: vec![Primitive::Ats],
        refused: vec![Primitive::Unmap],
    };
    let of = |primitive, succeeded, refused| PrimitiveSeen { primitive, succeeded, refused };
    let seen = SessionSeen {
        capacity: Some(at(10)),
        block_limits: Some(at(11)),
        first_io: Some(at(12)),
        primitives: vec![
            of(Primitive::Ats, Some(at(13)), None),
            of(Primitive::Unmap, None, Some((at(14), Reason::BelowGrain))),
        ],
        units: [unit].into(),
        ..SessionSeen::default()
    };
    let see = |seen: SessionSeen| array.live.sessions.borrow_mut()[0].seen = seen;
    see(seen.clone());
    let used = look();
    assert_eq!(used.missing, [Missing::Primitive(Primitive::Unmap)]);
    assert_eq!((used.asked.capacity, used.first_io), (Some(at(10)), Some(at(12))));
    let standings: Vec<_> = used.primitives.iter().map(|row| (row.standing, row.announced)).collect();
    let (good, bad, unknown) =
        (PrimitiveStanding::Supported, PrimitiveStanding::NotSupported, PrimitiveStanding::Unknown);
    assert_eq!(standings, [(good, true), (unknown, false), (unknown, true), (bad, false)]);
    let shown = read(&mirror, &array, &HostShow { host: "esx01".to_owned() });
    let listed = read(&mirror, &array, &HostList::default()).remove(0);
    assert_eq!((&shown.primitives, &listed.primitives), (&used.primitives, &used.primitives));

    // Another volume was looked at: nothing is known of this one.
    array.create("v2");
    array.grant("v2", Some("esx01"), Some(5)).unwrap();
    let other = ConnectShow { host: "esx01".to_owned(), volume: Some("v2".to_owned()) };
    assert_eq!(read(&mirror, &array, &other).missing, [Missing::Capacity]);

    let mut better = seen;
    let mut units = better.units.to_vec();
    units[0].refused.clear();
    better.units = units.into();
    see(better);
    assert_eq!(look().missing, []);
    // Ended sessions say nothing.
    array.live.sessions.borrow_mut().clear();
    assert_eq!(look().missing, [Missing::Login]);
}

/// The plan of a host says how many volumes it would lose with its sessions.
#[test]
fn the_facts_of_a_plan_count_the_other_volumes_of_the_host() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    array.create_host("esx01", ESX01);
    array.create_host("esx02", "iqn.1998-01.com.vmware:esx02");
    let show = ConnectFactsShow { host: "esx01".to_owned(), volume: "v1".to_owned() };
    for (at, name) in ["v1", "v2", "v3", "v4"].into_iter().enumerate() {
        array.create(name);
        let (host, others) = match at {
            0 => (Some("esx01"), 0),
            1 => (Some("esx02"), 0),
            2 => (Some("esx01"), 1),
            _ => (None, 2),
        };
        array.grant(name, host, None).unwrap();
        assert_eq!(read(&mirror, &array, &show).other_volumes, others, "{name}");
    }
}

#[test]
fn what_is_doubtful_about_the_paths_of_a_host_is_said() {
    let array = Array::new();
    let mirror = block_on(array.control.mirror());
    let volume = array.create("v1");
    let show = ConnectShow { host: "esx01".to_owned(), volume: None };
    let codes = || {
        let warnings = read(&mirror, &array, &show).warnings;
        assert_eq!(read(&mirror, &array, &HostList::default())[0].warnings, warnings, "the list says the same");
        warnings.iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    array.create_host("esx01", ESX01);
    assert_eq!(codes(), ["no-chap"]);
    let secret = Some(Secret::new("a-secret-of-some-length".to_owned()));
    let chap = ChapSet { user: "esx".to_owned(), secret, generate: false, mutual: None };
    let chap = HostSet { host: "esx01".to_owned(), chap: Some(Some(chap)), ..HostSet::default() };
    array.run(chap).unwrap();
    array.live.logins.borrow_mut().add(knock(ESX01, LoginOutcome::ChapFailed, false), true, Timestamp::UNIX_EPOCH);
    assert_eq!(codes(), ["logins-refused"]);
    array.live.logins.borrow_mut().add(knock(ESX01, LoginOutcome::Ok, false), true, Timestamp::UNIX_EPOCH);
    assert_eq!(codes(), [""; 0]);
    array.log_in(7, ESX01);
    let session = |at: usize, change: &dyn Fn(&mut SessionInfo)| change(&mut array.live.sessions.borrow_mut()[at]);
    let now = array.control.environment().now();
    session(0, &|of| of.last_io = Some(now));
    assert_eq!(codes(), ["one-path"]);
    array.log_in(8, ESX01);
    session(1, &|of| (of.target_port, of.mss_bytes) = (2, Some(8948)));
    assert_eq!(codes(), ["unequal-mss"]);
    session(1, &|of| of.mss_bytes = None);
    assert_eq!(codes(), [""; 0]);
    let unit = UnitSeen {
        object: volume.record.object,
        lun: 4,
        capacity: true,
        block_limits: false,
        provisioning: false,
        third_party_copy: false,
        transferred: true,
        succeeded: Vec::new(),
        refused: Vec::new(),
    };
    session(0, &|of| of.seen = SessionSeen { units: [unit.clone()].into(), ..SessionSeen::default() });
    assert_eq!(codes(), ["one-path-used"]);
    session(1, &|of| of.seen = SessionSeen { units: [unit.clone()].into(), ..SessionSeen::default() });
    session(0, &|of| of.last_io = Some(now - jiff::SignedDuration::from_hours(7 * 24)));
    assert_eq!(codes(), ["silent"]);
    session(0, &|of| of.last_io = Some(now));
    array.grant("v1", Some("esx01"), Some(256)).unwrap();
    assert_eq!(codes(), ["lun-above-255"]);
}
