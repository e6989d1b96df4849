//! Sign-ins: begin, find, end.

use super::{Change, People};
use crate::digest::Digest;
use crate::error::{IdentityError, Noun};
use crate::name;
use crate::password::{PasswordHash, SALT_BYTES};
use crate::role::Role;
use crate::sign_in::SignIn;
use crate::user::User;
use jiff::Timestamp;
use std::net::IpAddr;
use uuid::Uuid;

/// Largest number of sign-ins of one user; the one used longest ago ends for a new one.
const MAX_SIGN_INS: usize = 16;
/// Longest text that a browser calls itself, in characters.
const MAX_AGENT: usize = 200;

/// Sign-in to begin, after the password was compared.
#[derive(Clone, Debug)]
pub struct NewSignIn<'a> {
    /// Identity, new.
    pub id: Uuid,
    /// SHA-256 of the cookie.
    pub digest: Digest,
    /// Name of the user.
    pub user: &'a str,
    /// Hash with which the password was compared.
    pub compared: &'a PasswordHash,
    /// Address of the browser.
    pub from: IpAddr,
    /// What the browser calls itself.
    pub agent: &'a str,
    /// True for a wall display.
    pub display: bool,
}

impl People {
    /// Hash with which to compare a password. For an unknown or locked user it is that of a password
    /// that nobody has, so that the comparison takes the same time.
    pub fn password_of(&self, name: &str, salt: [u8; SALT_BYTES]) -> PasswordHash {
        let user = self.users.values().find(|user| name::same(&user.name, name) && !user.locked);
        user.map_or_else(|| PasswordHash::of_nobody(salt), |user| user.password.clone())
    }

    /// Plans a sign-in. Sign-ins that have ended are removed, and the oldest of too many.
    pub fn sign_in(&self, new: &NewSignIn<'_>, now: Timestamp) -> Result<Vec<Change>, IdentityError> {
        let user = self.users.values().find(|user| name::same(&user.name, new.user));
        // The user may have changed since the comparison.
        let user = user.filter(|user| !user.locked && user.password == *new.compared);
        let user = user.ok_or(IdentityError::WrongPassword)?;
        if new.display && user.role != Role::Viewer {
            return Err(IdentityError::InvalidScope("a wall display is for users with the role viewer"));
        }
        let mut changes = self.ended(now);
        let mut of_user: Vec<&SignIn> =
            self.sign_ins.values().filter(|sign_in| sign_in.user == user.id && sign_in.is_live(now)).collect();
        of_user.sort_by_key(|sign_in| sign_in.last_use);
        let too_many = (of_user.len() + 1).saturating_sub(MAX_SIGN_INS);
        changes.extend(of_user.iter().take(too_many).map(|sign_in| Change::RemoveSignIn(sign_in.id)));
        let agent = new.agent.chars().filter(|c| !c.is_control()).take(MAX_AGENT).collect();
        let NewSignIn { id, digest, from, display, .. } = *new;
        let sign_in = SignIn { id, digest, user: user.id, from, agent, since: now, last_use: now, display };
        changes.push(Change::PutSignIn(sign_in));
        changes.push(Change::PutUser(User { last_sign_in: Some(now), ..user.clone() }));
        Ok(changes)
    }

    /// The live sign-in with this cookie, and its user.
    pub fn sign_in_with(&self, digest: &Digest, now: Timestamp) -> Option<(&User, &SignIn)> {
        let fitting = self.sign_ins.values().fold(None, |found, sign_in| {
            let fits = sign_in.digest.matches(digest);
            if fits { Some(sign_in) } else { found }
        });
        let sign_in = fitting.filter(|sign_in| sign_in.is_live(now))?;
        let user = self.users.get(&sign_in.user).filter(|user| !user.locked)?;
        Some((user, sign_in))
    }

    /// Notes a request with a sign-in, which puts its end off.
    pub fn use_sign_in(&mut self, id: Uuid, now: Timestamp) {
        if let Some(sign_in) = self.sign_ins.get_mut(&id) {
            sign_in.last_use = sign_in.last_use.max(now);
            self.used.insert(id);
        }
    }

    /// Live sign-ins with their users, newest first.
    pub fn sign_ins(&self, now: Timestamp) -> Vec<(&User, &SignIn)> {
        let live = self.sign_ins.values().filter(|sign_in| sign_in.is_live(now));
        let mut all: Vec<_> = live.filter_map(|sign_in| Some((self.users.get(&sign_in.user)?, sign_in))).collect();
        all.sort_by_key(|(_, sign_in)| std::cmp::Reverse(sign_in.since));
        all
    }

    /// True while a sign-in goes on.
    pub fn is_signed_in(&self, id: Uuid, now: Timestamp) -> bool {
        self.sign_ins.get(&id).is_some_and(|sign_in| sign_in.is_live(now))
    }

    /// Plans the end of a sign-in.
    pub fn end_sign_in(&self, id: &str) -> Result<Vec<Change>, IdentityError> {
        let known = id.parse().ok().filter(|id| self.sign_ins.contains_key(id));
        let id = known.ok_or_else(|| IdentityError::NotFound { noun: Noun::SignIn, name: id.to_owned() })?;
        Ok(vec![Change::RemoveSignIn(id)])
    }

    /// Plans the removal of sign-ins that have ended.
    pub fn ended(&self, now: Timestamp) -> Vec<Change> {
        let ended = self.sign_ins.values().filter(|sign_in| !sign_in.is_live(now));
        ended.map(|sign_in| Change::RemoveSignIn(sign_in.id)).collect()
    }
}
