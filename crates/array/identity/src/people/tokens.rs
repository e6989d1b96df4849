//! Tokens: create, delete, find.

use super::{Change, People, Settings};
use crate::digest::Digest;
use crate::error::{IdentityError, Noun};
use crate::name;
use crate::role::Role;
use crate::token::{Scopes, Token, shown};
use jiff::{SignedDuration, Timestamp};
use std::net::IpAddr;
use uuid::Uuid;

/// Name of the token in the file `admin.token`.
pub const BOOTSTRAP: &str = "bootstrap";
/// Largest number of tokens.
const MAX_TOKENS: usize = 1000;
/// Least time between two records of a last use.
const USE_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Token to be created.
#[derive(Clone, Debug)]
pub struct NewToken<'a> {
    /// Identity, new.
    pub id: Uuid,
    /// Name.
    pub name: &'a str,
    /// The secret.
    pub text: &'a str,
    /// What it may do.
    pub role: Role,
    /// What it is limited to.
    pub scopes: Scopes,
    /// Name of the creator.
    pub created_by: String,
    /// Time from which it is not accepted; absent: never.
    pub expires: Option<Timestamp>,
}

impl People {
    /// Tokens, by name.
    pub fn tokens(&self) -> Vec<&Token> {
        let mut tokens: Vec<&Token> = self.tokens.values().collect();
        tokens.sort_by(|one, other| one.name.cmp(&other.name));
        tokens
    }

    /// Token by name or id.
    pub fn token(&self, name_or_id: &str) -> Result<&Token, IdentityError> {
        let by_name = self.tokens.values().find(|token| name::same(&token.name, name_or_id));
        by_name
            .or_else(|| self.tokens.get(&name_or_id.parse().ok()?))
            .ok_or_else(|| IdentityError::NotFound { noun: Noun::Token, name: name_or_id.to_owned() })
    }

    /// Token by id.
    pub fn token_of(&self, id: Uuid) -> Option<&Token> {
        self.tokens.get(&id)
    }

    /// The token with this secret, if it has not expired. Takes the same time whichever it is.
    pub fn token_with(&self, digest: &Digest, now: Timestamp) -> Option<&Token> {
        let fitting = self.tokens.values().fold(None, |found, token| {
            let fits = token.digest.matches(digest);
            if fits { Some(token) } else { found }
        });
        fitting.filter(|token| token.is_live(now))
    }

    /// Plans a new token.
    pub fn create_token(&self, new: NewToken<'_>, now: Timestamp) -> Result<Vec<Change>, IdentityError> {
        name::check(new.name)?;
        new.scopes.check()?;
        let is_taken = self.tokens.values().any(|token| name::same(&token.name, new.name));
        if is_taken || name::same(new.name, BOOTSTRAP) {
            return Err(IdentityError::NameTaken { noun: Noun::Token, name: new.name.to_owned() });
        }
        if new.expires.is_some_and(|expires| expires <= now) {
            return Err(IdentityError::Expired);
        }
        if self.tokens.len() >= MAX_TOKENS {
            return Err(IdentityError::TooMany { noun: Noun::Token, most: MAX_TOKENS });
        }
        Ok(vec![Change::PutToken(Token {
            id: new.id,
            name: new.name.to_owned(),
            digest: Digest::of(new.text.as_bytes()),
            prefix: shown(new.text),
            role: new.role,
            scopes: new.scopes,
            created_by: new.created_by,
            created: now,
            expires: new.expires,
            last_used: None,
            last_from: None,
        })])
    }

    /// Plans the deletion of a token. That of `admin.token` is not made again.
    pub fn delete_token(&self, name_or_id: &str) -> Result<Vec<Change>, IdentityError> {
        let token = self.token(name_or_id)?;
        let mut changes = vec![Change::RemoveToken(token.id)];
        if token.name == BOOTSTRAP {
            changes.push(Change::PutSettings(Settings { bootstrap_deleted: true }));
        }
        Ok(changes)
    }

    /// True if the token of `admin.token` was deleted.
    pub fn bootstrap_is_deleted(&self) -> bool {
        self.settings.bootstrap_deleted
    }

    /// Plans the token of `admin.token`, whose digest is in a file.
    pub fn bootstrap(&self, id: Uuid, digest: Digest, now: Timestamp) -> Vec<Change> {
        let present = self.tokens.values().find(|token| token.name == BOOTSTRAP);
        if self.settings.bootstrap_deleted || present.is_some_and(|token| token.digest.matches(&digest)) {
            return Vec::new();
        }
        vec![Change::PutToken(Token {
            id: present.map_or(id, |token| token.id),
            name: BOOTSTRAP.to_owned(),
            digest,
            prefix: String::new(),
            role: Role::Admin,
            scopes: Scopes::default(),
            created_by: "array".to_owned(),
            created: now,
            expires: None,
            last_used: None,
            last_from: None,
        })]
    }

    /// Notes a use of a token, to the minute.
    pub fn use_token(&mut self, id: Uuid, from: Option<IpAddr>, now: Timestamp) {
        let Some(token) = self.tokens.get_mut(&id) else { return };
        let is_recent = token.last_used.is_some_and(|last| now.duration_since(last).abs() < USE_INTERVAL);
        if !is_recent || token.last_from != from {
            token.last_used = Some(now);
            token.last_from = from;
            self.used.insert(id);
        }
    }
}
