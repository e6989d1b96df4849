//! Users, tokens and sign-ins together.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use crate::digest::Digest;
use crate::error::IdentityError;
use crate::password::PasswordHash;
use crate::role::Role;
use crate::token::Scopes;
use jiff::{SignedDuration, Timestamp};
use std::net::{IpAddr, Ipv4Addr};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// Hash of no password; that of `n` differs from others.
fn hash(n: u8) -> PasswordHash {
    PasswordHash::of_nobody([n; 16])
}

fn new_user(n: u8, name: &str, role: Role) -> NewUser {
    NewUser { id: Uuid::from_bytes([n; 16]), name: name.to_owned(), role, password: hash(n), must_change: false }
}

/// Carries out what was planned.
fn run(people: &mut People, planned: Result<Vec<Change>, IdentityError>) {
    planned.unwrap().into_iter().for_each(|change| people.apply(change));
}

/// An admin, an operator and a viewer.
fn people() -> People {
    let mut people = People::default();
    for (n, name, role) in [(1, "anna", Role::Admin), (2, "otto", Role::Operator), (3, "vera", Role::Viewer)] {
        let planned = people.create_user(new_user(n, name, role), time(0));
        run(&mut people, planned);
    }
    people
}

fn sign_in(people: &mut People, n: u8, user: &str, password: u8, at: i64) -> Result<(), IdentityError> {
    let compared = hash(password);
    let new = NewSignIn {
        id: Uuid::from_bytes([n; 16]),
        digest: Digest::of(&[n]),
        user,
        compared: &compared,
        from: HERE,
        agent: "Browser\u{1b}[31m",
        display: false,
    };
    let changes = people.sign_in(&new, time(at))?;
    run(people, Ok(changes));
    Ok(())
}

fn signed_in(people: &People, n: u8, at: i64) -> Option<String> {
    people.sign_in_with(&Digest::of(&[n]), time(at)).map(|(user, _)| user.name.clone())
}

#[test]
fn the_last_admin_stays() {
    let mut people = people();
    let lowered = UserSet { role: Some(Role::Operator), ..UserSet::default() };
    let locked = UserSet { locked: Some(true), ..UserSet::default() };
    let refused = Err(IdentityError::LastAdmin { name: "anna".to_owned() });
    assert_eq!(people.set_user("anna", &lowered), refused);
    assert_eq!(people.set_user("ANNA", &locked), refused);
    assert_eq!(people.delete_user("anna"), refused);
    let planned = people.set_user("otto", &UserSet { role: Some(Role::Admin), ..UserSet::default() });
    run(&mut people, planned);
    let planned = people.delete_user("anna");
    run(&mut people, planned);
    assert_eq!(people.delete_user("otto"), Err(IdentityError::LastAdmin { name: "otto".to_owned() }));
    assert!(people.has_admin());
}

#[test]
fn names_are_unique_whatever_their_case() {
    let mut people = people();
    let taken = |planned: Result<Vec<Change>, IdentityError>| matches!(planned, Err(IdentityError::NameTaken { .. }));
    assert!(taken(people.create_user(new_user(9, "Anna", Role::Viewer), time(0))));
    let rename = |name: &str| UserSet { name: Some(name.to_owned()), ..UserSet::default() };
    assert!(taken(people.set_user("otto", &rename("VERA"))));
    assert!(people.set_user("otto", &rename("a b")).is_err());
    let planned = people.set_user("otto", &rename("Otto"));
    run(&mut people, planned);
    assert_eq!(people.users().iter().map(|user| user.name.as_str()).collect::<Vec<_>>(), ["Otto", "anna", "vera"]);
    assert_eq!(people.user(&Uuid::from_bytes([2; 16]).to_string()).unwrap().name, "Otto");
    assert!(people.set_up(new_user(9, "eve", Role::Admin), time(0)).is_err(), "there is an admin");
    assert!(People::default().set_up(new_user(9, "eve", Role::Viewer), time(0)).is_ok());
}

/// A planned change has no effect before it is applied.
#[test]
fn sign_ins_end_with_the_password_the_role_and_the_lock() {
    let mut people = people();
    for (n, change) in [(10, 0), (11, 1), (12, 2), (13, 3)] {
        let password = if change > 0 { 7 } else { 2 };
        sign_in(&mut people, n, "otto", password, 10).unwrap();
        assert_eq!(signed_in(&people, n, 20).as_deref(), Some("otto"));
        let planned = match change {
            0 => people.set_password("otto", hash(7), false),
            1 => people.set_user("otto", &UserSet { role: Some(Role::Viewer), ..UserSet::default() }),
            2 => people.set_user("otto", &UserSet { locked: Some(true), ..UserSet::default() }),
            _ => people.delete_user("otto"),
        };
        assert_eq!(signed_in(&people, n, 20).as_deref(), Some("otto"), "planned only");
        run(&mut people, planned);
        assert_eq!(signed_in(&people, n, 20), None, "change {change}");
        if change == 2 {
            assert_eq!(sign_in(&mut people, 20, "otto", 7, 10), Err(IdentityError::WrongPassword));
            assert!(people.password_of("otto", [0; 16]) == PasswordHash::of_nobody([0; 16]));
            let planned = people.set_user("otto", &UserSet { locked: Some(false), ..UserSet::default() });
            run(&mut people, planned);
        }
    }
    assert_eq!(sign_in(&mut people, 21, "otto", 7, 10), Err(IdentityError::WrongPassword));
    assert_eq!(sign_in(&mut people, 22, "vera", 9, 10), Err(IdentityError::WrongPassword), "changed meanwhile");
}

#[test]
fn a_user_has_sixteen_sign_ins_and_the_one_used_longest_ago_goes() {
    let mut people = people();
    (0..16).for_each(|n| sign_in(&mut people, 100 + n, "vera", 3, i64::from(n)).unwrap());
    people.use_sign_in(Uuid::from_bytes([100; 16]), time(50));
    sign_in(&mut people, 120, "VERA", 3, 60).unwrap();
    assert!(signed_in(&people, 100, 60).is_some() && signed_in(&people, 120, 60).is_some());
    assert_eq!(signed_in(&people, 101, 60), None);
    assert_eq!(people.sign_ins(time(60)).len(), 16);
    let (user, newest) = people.sign_ins(time(60))[0];
    assert_eq!((user.last_sign_in, newest.agent.as_str()), (Some(time(60)), "Browser[31m"));
    assert_eq!(people.ended(time(60 + 1800)).len(), 16);
    assert!(people.end_sign_in("x").is_err());
    let planned = people.end_sign_in(&newest.id.to_string());
    run(&mut people, planned);
    assert_eq!(signed_in(&people, 120, 60), None);
}

#[test]
fn a_wall_display_is_for_viewers() {
    let people = people();
    let compared = hash(2);
    let mut new = NewSignIn {
        id: Uuid::nil(),
        digest: Digest::of(b"x"),
        user: "otto",
        compared: &compared,
        from: HERE,
        agent: "",
        display: true,
    };
    assert!(matches!(people.sign_in(&new, time(0)), Err(IdentityError::InvalidScope(_))));
    let compared = hash(3);
    (new.user, new.compared) = ("vera", &compared);
    assert!(people.sign_in(&new, time(0)).is_ok());
}

fn new_token<'a>(n: u8, name: &'a str, text: &'a str) -> NewToken<'a> {
    NewToken {
        id: Uuid::from_bytes([n; 16]),
        name,
        text,
        role: Role::Operator,
        scopes: Scopes::default(),
        created_by: "anna".to_owned(),
        expires: Some(time(100)),
    }
}

#[test]
fn tokens_are_found_by_their_secret_until_they_expire() {
    let mut people = people();
    let planned = people.create_token(new_token(1, "csi", "windlass_0123456789"), time(0));
    run(&mut people, planned);
    let name = |people: &People, text: &[u8], at| {
        people.token_with(&Digest::of(text), time(at)).map(|token| (token.name.clone(), token.prefix.clone()))
    };
    assert_eq!(name(&people, b"windlass_0123456789", 99), Some(("csi".to_owned(), "windlass_012345".to_owned())));
    assert_eq!(name(&people, b"windlass_0123456789", 100), None);
    assert_eq!(name(&people, b"windlass_012345678", 0), None);
    assert!(matches!(people.create_token(new_token(2, "CSI", "x"), time(0)), Err(IdentityError::NameTaken { .. })));
    assert!(people.create_token(new_token(2, BOOTSTRAP, "x"), time(0)).is_err());
    assert_eq!(people.create_token(new_token(2, "late", "x"), time(100)), Err(IdentityError::Expired));
    let id = people.token("csi").unwrap().id;
    people.use_token(id, Some(HERE), time(10));
    assert_eq!(people.take_uses().len(), 1);
    people.use_token(id, Some(HERE), time(69));
    assert!(people.take_uses().is_empty(), "the same minute");
    people.use_token(id, None, time(69));
    assert_eq!(people.take_uses().len(), 1, "another address");
}

/// The token of `admin.token` follows its file until it is deleted by name.
#[test]
fn the_bootstrap_token_follows_its_file() {
    let mut people = People::default();
    let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
    let found = |people: &People, digest| people.token_with(&digest, time(1)).is_some();
    let planned = people.bootstrap(Uuid::from_bytes([1; 16]), one, time(0));
    run(&mut people, Ok(planned));
    assert!(found(&people, one) && people.bootstrap(Uuid::nil(), one, time(1)).is_empty());
    let planned = people.bootstrap(Uuid::from_bytes([2; 16]), two, time(0));
    run(&mut people, Ok(planned));
    assert!(found(&people, two) && !found(&people, one));
    let planned = people.delete_token(BOOTSTRAP);
    run(&mut people, planned);
    assert!(people.bootstrap_is_deleted() && people.bootstrap(Uuid::nil(), two, time(1)).is_empty());
}

/// Records are stored as JSON, and one with an unknown field is refused.
#[test]
fn records_are_read_back_as_they_were() {
    let mut people = people();
    sign_in(&mut people, 30, "anna", 1, 5).unwrap();
    let mut token = new_token(4, "t", "windlass_x");
    token.scopes.networks.push("10.0.0.0/8".parse().unwrap());
    token.scopes.volumes = crate::glob::Glob::new("csi-*");
    let planned = people.create_token(token, time(0));
    run(&mut people, planned);
    let user = people.user("anna").unwrap();
    let text = serde_json::to_string(user).unwrap();
    assert_eq!(&serde_json::from_str::<crate::user::User>(&text).unwrap(), user);
    assert!(serde_json::from_str::<crate::user::User>(&text.replacen('{', "{\"x\":1,", 1)).is_err());
    let token = people.token("t").unwrap();
    let text = serde_json::to_string(token).unwrap();
    assert_eq!(&serde_json::from_str::<crate::token::Token>(&text).unwrap(), token);
    let (_, newest) = people.sign_ins(time(6))[0];
    let text = serde_json::to_string(newest).unwrap();
    assert_eq!(&serde_json::from_str::<crate::sign_in::SignIn>(&text).unwrap(), newest);
    assert_eq!(newest.ends(), time(5).checked_add(SignedDuration::from_mins(30)).unwrap());
}
