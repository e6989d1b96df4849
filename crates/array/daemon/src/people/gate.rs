//! Credentials of requests, and changes of users, tokens and sign-ins.

use super::caller::{Caller, CallerKind};
use super::entropy::random;
use super::failures::{Failures, Report};
use super::hashing::{Hashing, NoRoom};
use super::store::Store;
use super::{bootstrap, setup};
use crate::management_store::ManagementStore;
use identity::{
    BOOTSTRAP, Change, Digest, IdentityError, NewSignIn, NewUser, PasswordFault, PasswordHash, People, Role, SetupCode,
    token_text,
};
use jiff::Timestamp;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use uuid::Uuid;

/// Reason for which credentials are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// None, or wrong ones.
    Unauthorized,
    /// Too many wrong ones, from this address or for this name.
    Wait {
        /// Time until the next try.
        seconds: u64,
    },
    /// The token is not accepted from this address.
    Elsewhere,
}

/// Users, tokens and sign-ins cannot be read or stored.
#[derive(Clone, Debug)]
pub(crate) struct Unavailable(pub(crate) String);

/// Reason for which a change was not made.
#[derive(Debug)]
pub(crate) enum NotChanged {
    /// The rules refuse it.
    Refused(IdentityError),
    /// It could not be stored.
    Unavailable(Unavailable),
    /// Too many passwords are being hashed.
    NoRoom,
}

impl From<IdentityError> for NotChanged {
    fn from(error: IdentityError) -> Self {
        Self::Refused(error)
    }
}

impl From<NoRoom> for NotChanged {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl From<anyhow::Error> for NotChanged {
    fn from(error: anyhow::Error) -> Self {
        Self::Unavailable(Unavailable(format!("{error:#}")))
    }
}

/// Reason for which a sign-in did not begin.
#[derive(Debug)]
pub(crate) enum NotSignedIn {
    /// Wrong name or password; with a report once in a while.
    Wrong(Option<Report>),
    /// It has to wait.
    Wait {
        /// Time until the next try.
        seconds: u64,
    },
    /// Something else.
    Other(NotChanged),
}

impl From<NotChanged> for NotSignedIn {
    fn from(error: NotChanged) -> Self {
        Self::Other(error)
    }
}

impl From<NoRoom> for NotSignedIn {
    fn from(error: NoRoom) -> Self {
        Self::Other(error.into())
    }
}

impl From<anyhow::Error> for NotSignedIn {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error.into())
    }
}

/// Name, password and browser of a sign-in.
pub(crate) struct Attempt {
    /// Name of the user.
    pub user: String,
    /// Password.
    pub password: String,
    /// Address.
    pub from: IpAddr,
    /// What the browser calls itself.
    pub agent: String,
    /// True for a wall display.
    pub display: bool,
}

/// Users, tokens and sign-ins, with their store.
pub(crate) struct Gate {
    state_dir: PathBuf,
    people: Arc<Mutex<People>>,
    /// Held while a change is planned, stored and applied: changes do not overlap.
    store: Arc<tokio::sync::Mutex<Result<Store, Unavailable>>>,
    failures: Mutex<Failures>,
    setup: Mutex<Option<SetupCode>>,
    hashing: Hashing,
}

impl Gate {
    /// Reads the store. If it cannot be used, local processes are still served, and nobody else.
    pub(crate) fn open(state_dir: &Path, store: &Result<ManagementStore, Unavailable>) -> Self {
        let mut people = People::default();
        let opened = store.clone().map_err(|Unavailable(reason)| anyhow::anyhow!("{reason}"));
        let store = match opened.and_then(Store::open) {
            Ok((store, records)) => {
                records.into_iter().for_each(|record| people.apply(record));
                Ok(store)
            }
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(error = reason, "users and tokens cannot be used; the administrative socket is served");
                Err(Unavailable(reason))
            }
        };
        Self {
            state_dir: state_dir.to_owned(),
            people: Arc::new(Mutex::new(people)),
            store: Arc::new(tokio::sync::Mutex::new(store)),
            failures: Mutex::default(),
            setup: Mutex::default(),
            hashing: Hashing::default(),
        }
    }

    /// Prepares HTTPS: the token `bootstrap`, and a set-up code if there is no administrator.
    pub(crate) async fn prepare_https(&self) -> anyhow::Result<()> {
        if let Err(Unavailable(reason)) = &*self.store.lock().await {
            anyhow::bail!("{reason}");
        }
        let (is_deleted, has_admin) = self.see(|people| (people.bootstrap_is_deleted(), people.has_admin()));
        if is_deleted {
            bootstrap::remove(&self.state_dir);
        } else {
            let digest = bootstrap::digest(&self.state_dir)?;
            let plan = |people: &People| Ok(people.bootstrap(Uuid::new_v4(), digest, Timestamp::now()));
            self.change(plan).await.map_err(|error| anyhow::anyhow!("the token cannot be stored: {error:?}"))?;
        }
        if has_admin {
            setup::remove(&self.state_dir);
        } else {
            self.make_setup_code().await.map_err(|error| anyhow::anyhow!("no set-up code: {error:?}"))?;
        }
        Ok(())
    }

    fn people(&self) -> MutexGuard<'_, People> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn setup(&self) -> MutexGuard<'_, Option<SetupCode>> {
        self.setup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at users, tokens and sign-ins.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&People) -> T) -> T {
        look(&self.people())
    }

    /// Makes a change: plans it, stores it, and applies it. It is durable on return; after an error
    /// nothing has changed. What is stored is also applied if the caller is dropped meanwhile.
    pub(crate) async fn change(
        &self,
        plan: impl FnOnce(&People) -> Result<Vec<Change>, IdentityError>,
    ) -> Result<(), NotChanged> {
        let store = Arc::clone(&self.store).lock_owned().await;
        let changes = self.see(plan)?;
        if changes.is_empty() {
            return Ok(());
        }
        let to_store = store.as_ref().map_err(|error| NotChanged::Unavailable(error.clone()))?.clone();
        let people = Arc::clone(&self.people);
        let make = move || -> anyhow::Result<()> {
            let _no_other_change = store;
            to_store.write(&changes)?;
            let mut people = people.lock().unwrap_or_else(PoisonError::into_inner);
            changes.into_iter().for_each(|change| people.apply(change));
            Ok(())
        };
        Ok(tokio::task::spawn_blocking(make).await.map_err(anyhow::Error::new)??)
    }

    /// Stores the last uses, and removes sign-ins that have ended.
    pub(crate) async fn tidy(&self) {
        let uses = self.people().take_uses();
        let outcome = self
            .change(move |people| {
                let mut changes = people.ended(Timestamp::now());
                // What was deleted since must not come back.
                changes.splice(0..0, uses.into_iter().filter(|change| people.knows(change)));
                Ok(changes)
            })
            .await;
        if let Err(error) = outcome {
            tracing::warn!(?error, "the last uses of tokens and sign-ins could not be stored");
        }
    }

    /// Author of a request with a token.
    pub(crate) fn by_token(&self, token: &str, from: IpAddr) -> Result<Caller, Denied> {
        let (clock, now) = (Timestamp::now(), Instant::now());
        let mut people = self.people();
        // The right token is accepted during a wait, too: 256 random bits cannot be guessed, and an
        // administrator who shares an address with an attacker must not be locked out.
        if let Some(token) = people.token_with(&Digest::of(token.as_bytes()), clock) {
            if !token.scopes.allow_from(Some(from)) {
                return Err(Denied::Elsewhere);
            }
            let caller = Caller::token(token, from);
            let id = token.id;
            people.use_token(id, Some(from), clock);
            return Ok(caller);
        }
        let mut failures = self.failures();
        if let Some(seconds) = failures.wait_of_address(from, now) {
            return Err(Denied::Wait { seconds });
        }
        failures.token_failed(from, now);
        Err(Denied::Unauthorized)
    }

    /// Author of a request with a cookie. `is_use`: the request puts the end of the sign-in off.
    pub(crate) fn by_cookie(&self, cookie: &str, from: IpAddr, is_use: bool) -> Result<Caller, Denied> {
        let now = Timestamp::now();
        let mut people = self.people();
        let found = people.sign_in_with(&Digest::of(cookie.as_bytes()), now);
        let caller = found.map(|(user, sign_in)| Caller::user(user, sign_in, from)).ok_or(Denied::Unauthorized)?;
        if let Some(id) = caller.sign_in.filter(|_| is_use) {
            people.use_sign_in(id, now);
        }
        Ok(caller)
    }

    /// True while the credentials of a caller are accepted, for what lasts longer than a request. A user who gets
    /// another role, or is locked or deleted, is signed out; the role of a token does not change.
    pub(crate) fn stands(&self, caller: &Caller) -> bool {
        let now = Timestamp::now();
        self.see(|people| match (caller.kind, caller.id) {
            (CallerKind::Local, _) => true,
            (CallerKind::Token, Some(id)) => people.token_of(id).is_some_and(|token| token.is_live(now)),
            (CallerKind::User, _) => caller.sign_in.is_some_and(|id| people.is_signed_in(id, now)),
            (CallerKind::Token, None) => false,
        })
    }

    /// True once after many refused sign-ins, when there are no more.
    pub(crate) fn alarm_ends(&self) -> bool {
        self.failures().alarm_ends(Instant::now())
    }

    /// Report of refused sign-ins that none followed, with the address and name of the last one.
    pub(crate) fn take_unreported(&self) -> Option<(IpAddr, String, Report)> {
        self.failures().take_unreported(Instant::now())
    }

    /// Refusal of a request without credentials.
    pub(crate) fn stranger(&self, from: IpAddr) -> Denied {
        match self.failures().wait_of_address(from, Instant::now()) {
            Some(seconds) => Denied::Wait { seconds },
            None => Denied::Unauthorized,
        }
    }

    /// Begins a sign-in. Returns the cookie.
    pub(crate) async fn sign_in(&self, attempt: Attempt) -> Result<String, NotSignedIn> {
        let Attempt { user, password, from, agent, display } = attempt;
        let hash = self.verify(&user, password, from).await?;
        let cookie = Digest::of(&random::<32>()?).to_string();
        let (id, digest) = (Uuid::new_v4(), Digest::of(cookie.as_bytes()));
        let new = NewSignIn { id, digest, user: &user, compared: &hash, from, agent: &agent, display };
        self.change(|people| people.sign_in(&new, Timestamp::now())).await?;
        self.failures().succeeded(from, &user);
        Ok(cookie)
    }

    /// Compares a password of a user. Returns the hash that it fits.
    async fn verify(&self, user: &str, password: String, from: IpAddr) -> Result<PasswordHash, NotSignedIn> {
        let wait = || match self.failures().wait(from, user, Instant::now()) {
            Some(seconds) => Err(NotSignedIn::Wait { seconds }),
            None => Ok(()),
        };
        wait()?;
        let salt = random()?;
        let hash = self.see(|people| people.password_of(user, salt));
        let compared = hash.clone();
        let fits = self.hashing.run(move || compared.verify(&password)).await?;
        // Others may have failed while this one waited for its turn.
        wait()?;
        if fits {
            Ok(hash)
        } else {
            Err(NotSignedIn::Wrong(self.failures().sign_in_failed(from, user, Instant::now())))
        }
    }

    /// Hash of a new password of the user `name`.
    pub(crate) async fn hash(&self, password: String, name: String) -> Result<PasswordHash, NotChanged> {
        let salt = random()?;
        let hashed = self.hashing.run(move || PasswordHash::new(&password, &name, salt)).await?;
        hashed.map_err(|fault: PasswordFault| NotChanged::Refused(fault.into()))
    }

    /// Compares the present password of a user, as a sign-in does.
    pub(crate) async fn compare(&self, user: &str, password: String, from: IpAddr) -> Result<(), NotSignedIn> {
        self.verify(user, password, from).await.map(drop)
    }

    /// Secret of a new token.
    pub(crate) fn new_secret(&self) -> Result<String, NotChanged> {
        Ok(token_text(&random()?))
    }

    /// Deletes a token; that of `admin.token` with its files.
    pub(crate) async fn delete_token(&self, token: &str) -> Result<(), NotChanged> {
        let is_bootstrap = self.see(|people| people.token(token).is_ok_and(|token| token.name == BOOTSTRAP));
        self.change(|people| people.delete_token(token)).await?;
        if is_bootstrap {
            bootstrap::remove(&self.state_dir);
        }
        Ok(())
    }

    /// Makes a new set-up code, which replaces an earlier one. Refused once there is an administrator.
    pub(crate) async fn make_setup_code(&self) -> Result<(String, Timestamp), NotChanged> {
        self.check_no_admin()?;
        let state_dir = self.state_dir.clone();
        let (code, text) =
            tokio::task::spawn_blocking(move || setup::make(&state_dir)).await.map_err(anyhow::Error::new)??;
        let expires = code.expires();
        *self.setup() = Some(code);
        Ok((text, expires))
    }

    /// Compares a set-up code, as a sign-in does a password. `from`: address; absent on the administrative socket.
    pub(crate) fn check_setup_code(&self, code: &str, from: Option<IpAddr>) -> Result<(), NotSignedIn> {
        self.check_no_admin()?;
        let now = Instant::now();
        if let Some(seconds) = from.and_then(|from| self.failures().wait_of_address(from, now)) {
            return Err(NotSignedIn::Wait { seconds });
        }
        if self.setup().as_mut().is_some_and(|expected| expected.verify(code, Timestamp::now())) {
            return Ok(());
        }
        Err(NotSignedIn::Wrong(self.failures().code_failed(from, now)))
    }

    /// Refuses a set-up once there is an administrator.
    fn check_no_admin(&self) -> Result<(), NotChanged> {
        if self.see(People::has_admin) { Err(IdentityError::SetUp.into()) } else { Ok(()) }
    }

    /// Creates the first administrator, whose code was compared.
    pub(crate) async fn set_up(&self, user: &str, password: String) -> Result<(), NotChanged> {
        self.check_no_admin()?;
        self.see(|people| people.check_new_user(user))?;
        let password = self.hash(password, user.to_owned()).await?;
        let admin =
            NewUser { id: Uuid::new_v4(), name: user.to_owned(), role: Role::Admin, password, must_change: false };
        self.change(|people| people.set_up(admin, Timestamp::now())).await?;
        *self.setup() = None;
        setup::remove(&self.state_dir);
        Ok(())
    }
}
