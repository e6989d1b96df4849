use super::{About, Array, ESX01};
use crate::*;

fn host(reply: Result<impl About<HostView>, ControlError>) -> (HostView, bool) {
    reply.unwrap().about()
}

fn create(chap: Option<ChapSet>) -> HostCreate {
    HostCreate { name: "esx01".to_owned(), iqns: vec![ESX01.to_owned()], chap, ..HostCreate::default() }
}

fn chap(secret: Option<&str>, mutual: Option<Option<&str>>) -> ChapSet {
    let secret_of = |text: &str| Secret::new(text.to_owned());
    let mutual =
        mutual.map(|secret| MutualChapSet { user: "array".to_owned(), secret: secret.map(secret_of), generate: false });
    ChapSet { user: "esx".to_owned(), secret: secret.map(secret_of), generate: false, mutual }
}

#[test]
fn creating_twice_returns_the_same_host() {
    let array = Array::new();
    assert!(host(array.run(create(None))).1);
    assert!(!host(array.run(create(None))).1);
    assert_eq!(array.code(create(Some(chap(None, None)))), "exists");
}

#[test]
fn an_initiator_belongs_to_one_host() {
    let array = Array::new();
    array.create_host("esx01", ESX01);
    let other =
        HostCreate { name: "esx02".to_owned(), iqns: vec![ESX01.to_ascii_uppercase()], ..HostCreate::default() };
    assert_eq!(array.code(other), "initiator-name-taken");
}

#[test]
fn made_secrets_are_shown_once() {
    let array = Array::new();
    let (made, _) = host(array.run(create(Some(chap(None, Some(None))))));
    let generated = made.generated.unwrap();
    let (secret, mutual) = (generated.chap.unwrap(), generated.mutual.unwrap());
    assert_eq!(secret.expose().len(), 16);
    assert_ne!(secret, mutual);
    let nexus = array.control.directory().nexus(ESX01);
    let stored = nexus.chap.unwrap();
    assert_eq!((stored.secret, stored.mutual.unwrap().secret), (secret, mutual));
    let (again, created) = host(array.run(create(Some(chap(None, Some(None))))));
    assert!(!created && again.generated.is_none());
}

#[test]
fn the_two_directions_have_different_secrets() {
    let array = Array::new();
    let same = "one-secret-for-both";
    assert_eq!(array.code(create(Some(chap(Some(same), Some(Some(same)))))), "invalid-chap");
    assert_eq!(array.code(create(Some(chap(Some("short"), None)))), "invalid-chap");
    host(array.run(create(Some(chap(Some(same), None)))));
    assert_eq!(array.code(create(Some(chap(Some("another-secret"), None)))), "exists");
}

#[test]
fn set_changes_what_is_given() {
    let array = Array::new();
    host(array.run(create(Some(chap(None, None)))));
    let set = HostSet { host: "esx01".to_owned(), name: Some("esx-a".to_owned()), ..HostSet::default() };
    let (renamed, _) = host(array.run(set));
    assert!(renamed.record.chap.is_some());
    let iqn = "iqn.1998-01.com.vmware:new".to_owned();
    let set =
        HostSet { host: "esx-a".to_owned(), iqns: Some(vec![iqn.clone()]), chap: Some(None), ..HostSet::default() };
    let (changed, _) = host(array.run(set));
    assert_eq!((changed.record.initiators, changed.record.chap), (vec![Initiator::of(&iqn)], None));
    assert!(array.control.directory().nexus(ESX01).host.is_none());
}

/// Regression: `host set --chap-user` generated a new secret, with which the host's next login
/// failed.
#[test]
fn a_new_user_name_keeps_the_secrets() {
    let array = Array::new();
    let (made, _) = host(array.run(create(Some(chap(None, Some(None))))));
    let before = made.record.chap.unwrap();
    let other = |user: &str| ChapSet { user: user.to_owned(), ..chap(None, Some(None)) };
    let set = |chap| HostSet { host: "esx01".to_owned(), chap: Some(Some(chap)), ..HostSet::default() };
    let (renamed, _) = host(array.run(set(other("esx-new"))));
    assert_eq!(renamed.record.chap, Some(Chap { user: "esx-new".to_owned(), ..before.clone() }));
    assert!(renamed.generated.is_none_or(|generated| generated.chap.is_none() && generated.mutual.is_none()));
    // New secrets on request.
    let mutual = MutualChapSet { user: "array".to_owned(), secret: None, generate: true };
    let (new, _) = host(array.run(set(ChapSet { generate: true, mutual: Some(mutual), ..other("esx-new") })));
    assert!(new.generated.is_some_and(|generated| generated.chap.is_some() && generated.mutual.is_some()));
    assert_ne!(new.record.chap.unwrap().secret, before.secret);
    // Without a secret to keep, one is generated.
    host(array.run(HostSet { host: "esx01".to_owned(), chap: Some(None), ..HostSet::default() }));
    let (again, _) = host(array.run(set(other("esx"))));
    assert_ne!(again.record.chap.unwrap().secret, before.secret);
    assert!(again.generated.is_some_and(|generated| generated.chap.is_some() && generated.mutual.is_some()));
}

#[test]
fn a_host_in_use_is_not_deleted() {
    let array = Array::new();
    array.create("v1");
    array.create_host("esx01", ESX01);
    array.grant("v1", Some("esx01"), Some(3)).unwrap();
    array.log_in(1, ESX01);
    let delete = || HostDelete { host: "esx01".to_owned() };
    let error = array.run(delete()).unwrap_err();
    assert_eq!(error.users()[0].description, "volume v1, LUN 3");
    let from = crate::Revoke::All;
    array.run(AccessRevoke { volume: "v1".to_owned(), from }).unwrap();
    let error = array.run(delete()).unwrap_err();
    assert_eq!(error.help().unwrap(), "log out on esx01 first, or drop its sessions");
    array.run(SessionDrop { id: 1 }).unwrap();
    array.run(delete()).unwrap();
    assert_eq!(array.code(delete()), "not-found");
}
