//! All users, tokens and sign-ins of an array.

mod sign_ins;
mod tokens;
mod users;

pub use sign_ins::NewSignIn;
pub use tokens::{BOOTSTRAP, NewToken};
pub use users::{NewUser, UserSet};

use crate::sign_in::SignIn;
use crate::token::Token;
use crate::user::User;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Facts about the array that belong to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// True: the token of `admin.token` was deleted, and is not made again.
    pub bootstrap_deleted: bool,
}

/// A step of a change: one record as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stores a user.
    PutUser(User),
    /// Removes a user.
    RemoveUser(Uuid),
    /// Stores a token.
    PutToken(Token),
    /// Removes a token.
    RemoveToken(Uuid),
    /// Stores a sign-in.
    PutSignIn(SignIn),
    /// Removes a sign-in.
    RemoveSignIn(Uuid),
    /// Stores the settings.
    PutSettings(Settings),
}

/// All users, tokens and sign-ins.
#[derive(Debug, Default)]
pub struct People {
    users: BTreeMap<Uuid, User>,
    tokens: BTreeMap<Uuid, Token>,
    sign_ins: BTreeMap<Uuid, SignIn>,
    settings: Settings,
    /// Tokens and sign-ins whose last use is not stored.
    used: BTreeSet<Uuid>,
}

impl People {
    /// Carries out a change, or one step of loading.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::PutUser(user) => drop(self.users.insert(user.id, user)),
            Change::RemoveUser(id) => drop(self.users.remove(&id)),
            Change::PutToken(token) => drop(self.tokens.insert(token.id, token)),
            Change::RemoveToken(id) => drop(self.tokens.remove(&id)),
            Change::PutSignIn(sign_in) => drop(self.sign_ins.insert(sign_in.id, sign_in)),
            Change::RemoveSignIn(id) => drop(self.sign_ins.remove(&id)),
            Change::PutSettings(settings) => self.settings = settings,
        }
    }

    /// True if the record that a change stores still exists.
    pub fn knows(&self, change: &Change) -> bool {
        match change {
            Change::PutUser(user) => self.users.contains_key(&user.id),
            Change::PutToken(token) => self.tokens.contains_key(&token.id),
            Change::PutSignIn(sign_in) => self.sign_ins.contains_key(&sign_in.id),
            Change::RemoveUser(_) | Change::RemoveToken(_) | Change::RemoveSignIn(_) | Change::PutSettings(_) => true,
        }
    }

    /// Changes that store the last uses since the last call.
    pub fn take_uses(&mut self) -> Vec<Change> {
        let change = |id: &Uuid| {
            let token = self.tokens.get(id).cloned().map(Change::PutToken);
            token.or_else(|| self.sign_ins.get(id).cloned().map(Change::PutSignIn))
        };
        std::mem::take(&mut self.used).iter().filter_map(change).collect()
    }
}

#[cfg(test)]
mod tests;
