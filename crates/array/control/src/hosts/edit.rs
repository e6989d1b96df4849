//! `host create` and `host set`: initiator names, addresses and CHAP credentials of a host.

use super::Initiator;
use super::address::addresses_of;
use super::initiator::initiators_of;
use super::{GeneratedSecrets, HostView};
use crate::condition::Noun;
use crate::control::Control;
use crate::difference::Difference;
use crate::directory::Directory;
use crate::environment::{Secret, new_id};
use crate::error::ControlError;
use crate::events::Draft;
use crate::exports::changes_about;
use crate::exports::record::ExportTo;
use crate::hosts::error::HostError;
use crate::hosts::record::{Chap, HostRecord, MutualChap};
use crate::live::Change;
use crate::names::{check_chap_secret, check_chap_user, check_name};
use crate::qos::{policy_in_words, wanted_policy};
use crate::record::Document;
use crate::request::{Outcome, Request};
use std::collections::BTreeSet;
use std::net::IpAddr;
use uuid::Uuid;

/// Creates a host.
#[derive(Clone, Debug, Default)]
pub struct HostCreate {
    /// Unique name.
    pub name: String,
    /// Initiator names.
    pub iqns: Vec<String>,
    /// IP addresses from which it uses shares.
    pub addresses: Vec<IpAddr>,
    /// Required CHAP credentials; absent: no CHAP.
    pub chap: Option<ChapSet>,
}

/// Changes a host; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct HostSet {
    /// Name or id.
    pub host: String,
    /// New name.
    pub name: Option<String>,
    /// New initiator names, which replace the present ones.
    pub iqns: Option<Vec<String>>,
    /// New IP addresses, which replace the present ones.
    pub addresses: Option<Vec<IpAddr>>,
    /// `Some(None)` ends the demand for CHAP.
    pub chap: Option<Option<ChapSet>>,
    /// QoS policy by name or id; `Some(None)`: none.
    pub policy: Option<Option<String>>,
}

/// Requested CHAP credentials.
#[derive(Clone, Debug)]
pub struct ChapSet {
    /// Name that the host presents.
    pub user: String,
    /// Absent: the present secret, if there is one and `generate` is not set.
    pub secret: Option<Secret>,
    /// True to generate an absent secret even if there is one.
    pub generate: bool,
    /// Credentials of the array, if it authenticates too.
    pub mutual: Option<MutualChapSet>,
}

/// Requested CHAP credentials of the array.
#[derive(Clone, Debug)]
pub struct MutualChapSet {
    /// Name that the array presents.
    pub user: String,
    /// As in [`ChapSet`].
    pub secret: Option<Secret>,
    /// As in [`ChapSet`].
    pub generate: bool,
}

impl Request for HostCreate {
    type Reply = Outcome<HostView>;
    const NAME: &'static str = "host-create";

    async fn run(&self, control: &Control) -> Result<Outcome<HostView>, ControlError> {
        check_name(Noun::Host, &self.name)?;
        let initiators = initiators_of(&self.iqns)?;
        let addresses = addresses_of(&self.addresses)?;
        check_identified(&self.name, &initiators, &addresses)?;
        self.chap.as_ref().map(check_chap).transpose()?;
        let _changes = control.lock_changes().await;
        let existing = control.directory().host(&self.name).ok().cloned();
        if let Some(existing) = existing {
            check_same(&existing, &initiators, &addresses, self.chap.as_ref())?;
            return Ok(Outcome::unchanged(control.see(|facts| facts.host_view(existing, None))));
        }
        check_initiators_free(&control.directory(), &initiators, None)?;
        check_addresses_free(&control.directory(), &addresses, None)?;
        let (chap, generated) = self.chap.clone().map(|chap| control.make_chap(chap, None)).transpose()?.unzip();
        let (id, created) = (new_id(&**control.environment()), control.environment().now());
        let record = HostRecord { id, name: self.name.clone(), initiators, addresses, chap, policy: None, created };
        control.store_host(&record).await?;
        Ok(Outcome::changed(control.see(|facts| facts.host_view(record, generated))))
    }

    fn event(&self, outcome: &Outcome<HostView>) -> Option<Draft> {
        outcome.changed.then(|| Draft::info("host-created", &self.name, format!("host {} created", self.name)))
    }
}

impl Request for HostSet {
    type Reply = HostView;
    const NAME: &'static str = "host-set";

    async fn run(&self, control: &Control) -> Result<HostView, ControlError> {
        let initiators = self.iqns.as_deref().map(initiators_of).transpose()?;
        let addresses = self.addresses.as_deref().map(addresses_of).transpose()?;
        let _changes = control.lock_changes().await;
        let mut record = control.directory().host(&self.host)?.clone();
        let before = record.clone();
        if let Some(name) = self.name.clone().filter(|name| *name != record.name) {
            check_name(Noun::Host, &name)?;
            if control.directory().host(&name).is_ok() {
                return Err(ControlError::Exists { noun: Noun::Host, name, difference: None });
            }
            record.name = name;
        }
        if let Some(initiators) = initiators {
            check_initiators_free(&control.directory(), &initiators, Some(record.id))?;
            record.initiators = initiators;
        }
        if let Some(addresses) = addresses {
            check_addresses_free(&control.directory(), &addresses, Some(record.id))?;
            record.addresses = addresses;
        }
        check_identified(&record.name, &record.initiators, &record.addresses)?;
        let mut generated = None;
        match self.chap.clone() {
            None => {}
            Some(None) => record.chap = None,
            Some(Some(chap)) => {
                check_chap(&chap)?;
                let (chap, made) = control.make_chap(chap, before.chap.as_ref())?;
                let is_new = made != GeneratedSecrets::default();
                (record.chap, generated) = (Some(chap), is_new.then_some(made));
            }
        }
        record.policy = wanted_policy(&control.directory(), record.policy, self.policy.as_ref())?;
        if record != before {
            control.store_host(&record).await?;
        }
        Ok(control.see(|facts| facts.host_view(record, generated)))
    }

    fn event(&self, view: &HostView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.name.as_ref().map(|name| format!("renamed to {name}")));
        changes.extend(self.iqns.as_ref().map(|_| "initiator names".to_owned()));
        changes.extend(self.addresses.as_ref().map(|_| "addresses".to_owned()));
        changes.extend(self.chap.as_ref().map(|chap| match chap {
            Some(_) => "CHAP credentials".to_owned(),
            None => "CHAP off".to_owned(),
        }));
        changes.extend(self.policy.as_ref().map(policy_in_words));
        let message = format!("host {} changed: {}", self.host, changes.join(", "));
        Some(Draft::info("host-changed", &view.record.name, message))
    }
}

impl Control {
    /// Stores a new or changed host. The rules of shares take over its addresses before this returns.
    async fn store_host(&self, record: &HostRecord) -> Result<(), ControlError> {
        let mut published = vec![Change::HostChanged { host: record.id }];
        if self.directory().host_by_id(record.id).is_some_and(|before| before.addresses != record.addresses) {
            let groups: Vec<Uuid> = self.directory().groups_of(record.id).map(|group| group.id).collect();
            let groups = groups.into_iter().map(ExportTo::Group);
            let about = groups.chain([ExportTo::Host(record.id)]).collect();
            published.extend(changes_about(&self.directory(), &about));
        }
        self.commit(vec![record.put()?], vec![record.clone().into()], &published).await
    }

    /// Takes missing secrets from the present credentials or generates them, and returns the new
    /// credentials.
    fn make_chap(&self, chap: ChapSet, present: Option<&Chap>) -> Result<(Chap, GeneratedSecrets), ControlError> {
        let mut generated = GeneratedSecrets::default();
        let make = |given: Option<Secret>, kept: Option<&Secret>, made: &mut Option<Secret>| {
            let known = given.or_else(|| kept.cloned());
            known.unwrap_or_else(|| made.insert(Secret::generate(&**self.environment())).clone())
        };
        let kept = present.filter(|_| !chap.generate).map(|present| &present.secret);
        let secret = make(chap.secret, kept, &mut generated.chap);
        let mutual = chap.mutual.map(|mutual| {
            let present = present.and_then(|present| present.mutual.as_ref());
            let kept = present.filter(|_| !mutual.generate).map(|present| &present.secret);
            MutualChap { user: mutual.user, secret: make(mutual.secret, kept, &mut generated.mutual) }
        });
        if mutual.as_ref().is_some_and(|mutual| mutual.secret == secret) {
            return Err(SAME_SECRET.into());
        }
        Ok((Chap { user: chap.user, secret, mutual }, generated))
    }
}

/// Both directions must have different secrets (RFC 7143 §9.2.1).
const SAME_SECRET: HostError = HostError::InvalidChap { reason: "the array's CHAP secret must differ from the host's" };

/// Checks that the requested credentials are usable.
fn check_chap(chap: &ChapSet) -> Result<(), ControlError> {
    check_chap_user(&chap.user)?;
    chap.secret.as_ref().map(|secret| check_chap_secret(secret.expose())).transpose()?;
    if let Some(mutual) = &chap.mutual {
        check_chap_user(&mutual.user)?;
        mutual.secret.as_ref().map(|secret| check_chap_secret(secret.expose())).transpose()?;
        if mutual.secret.is_some() && mutual.secret == chap.secret {
            return Err(SAME_SECRET.into());
        }
    }
    Ok(())
}

/// Checks that no other host has these initiator names.
fn check_initiators_free(
    directory: &Directory,
    initiators: &[Initiator],
    own: Option<Uuid>,
) -> Result<(), ControlError> {
    for initiator in initiators {
        if let Some(host) = directory.host_with(initiator).filter(|host| Some(host.id) != own) {
            return Err(
                HostError::InitiatorNameTaken { initiator: initiator.to_string(), host: host.name.clone() }.into()
            );
        }
    }
    Ok(())
}

/// Checks that no other host has these addresses.
fn check_addresses_free(directory: &Directory, addresses: &[IpAddr], own: Option<Uuid>) -> Result<(), ControlError> {
    for address in addresses {
        if let Some(host) = directory.host_at(*address).filter(|host| Some(host.id) != own) {
            return Err(HostError::AddressTaken { address: *address, host: host.name.clone() }.into());
        }
    }
    Ok(())
}

/// Checks that the array can recognise a host.
fn check_identified(name: &str, initiators: &[Initiator], addresses: &[IpAddr]) -> Result<(), ControlError> {
    match (initiators, addresses) {
        ([], []) => Err(HostError::Unidentified { host: name.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// Checks that an existing host matches a create request. A secret that would be generated matches
/// any secret.
fn check_same(
    existing: &HostRecord,
    initiators: &[Initiator],
    addresses: &[IpAddr],
    chap: Option<&ChapSet>,
) -> Result<(), ControlError> {
    let secret_same =
        |wanted: &Option<Secret>, present: &Secret| wanted.as_ref().is_none_or(|wanted| wanted == present);
    let initiators_same = BTreeSet::from_iter(initiators) == BTreeSet::from_iter(&existing.initiators);
    let addresses_same = BTreeSet::from_iter(addresses) == BTreeSet::from_iter(&existing.addresses);
    let chap_same = match (chap, &existing.chap) {
        (None, None) => true,
        (Some(wanted), Some(present)) => {
            wanted.user == present.user
                && secret_same(&wanted.secret, &present.secret)
                && match (&wanted.mutual, &present.mutual) {
                    (None, None) => true,
                    (Some(wanted), Some(present)) => {
                        wanted.user == present.user && secret_same(&wanted.secret, &present.secret)
                    }
                    (Some(_), None) | (None, Some(_)) => false,
                }
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    let difference = if !initiators_same {
        Difference::InitiatorNames
    } else if !addresses_same {
        Difference::Addresses
    } else if !chap_same {
        Difference::ChapCredentials
    } else {
        return Ok(());
    };
    Err(ControlError::Exists { noun: Noun::Host, name: existing.name.clone(), difference: Some(difference) })
}
