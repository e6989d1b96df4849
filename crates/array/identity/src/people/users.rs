//! Users: create, change, delete, and their passwords.

use super::{Change, People};
use crate::error::{IdentityError, Noun};
use crate::name;
use crate::password::PasswordHash;
use crate::role::Role;
use crate::user::User;
use jiff::Timestamp;
use uuid::Uuid;

/// Largest number of users.
const MAX_USERS: usize = 1000;

/// User to be created.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Identity, new.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Role of the user.
    pub role: Role,
    /// Hash of the first password.
    pub password: PasswordHash,
    /// True: the user has to change the password at first.
    pub must_change: bool,
}

/// Change of a user; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserSet {
    /// New name.
    pub name: Option<String>,
    /// New role. All sign-ins of the user end.
    pub role: Option<Role>,
    /// True: the user cannot sign in, and all sign-ins end.
    pub locked: Option<bool>,
}

impl People {
    /// Users, by name.
    pub fn users(&self) -> Vec<&User> {
        let mut users: Vec<&User> = self.users.values().collect();
        users.sort_by(|one, other| one.name.cmp(&other.name));
        users
    }

    /// User by name or id.
    pub fn user(&self, name_or_id: &str) -> Result<&User, IdentityError> {
        let by_name = self.users.values().find(|user| name::same(&user.name, name_or_id));
        by_name
            .or_else(|| self.users.get(&name_or_id.parse().ok()?))
            .ok_or_else(|| IdentityError::NotFound { noun: Noun::User, name: name_or_id.to_owned() })
    }

    /// True if an admin can sign in.
    pub fn has_admin(&self) -> bool {
        self.users.values().any(is_active_admin)
    }

    /// Checks the name of a new user, before its password is hashed.
    pub fn check_new_user(&self, name: &str) -> Result<(), IdentityError> {
        name::check(name)?;
        if self.users.values().any(|user| name::same(&user.name, name)) {
            return Err(IdentityError::NameTaken { noun: Noun::User, name: name.to_owned() });
        }
        if self.users.len() >= MAX_USERS {
            return Err(IdentityError::TooMany { noun: Noun::User, most: MAX_USERS });
        }
        Ok(())
    }

    /// Plans a new user.
    pub fn create_user(&self, new: NewUser, now: Timestamp) -> Result<Vec<Change>, IdentityError> {
        self.check_new_user(&new.name)?;
        let NewUser { id, name, role, password, must_change } = new;
        let user = User { id, name, role, locked: false, password, must_change, created: now, last_sign_in: None };
        Ok(vec![Change::PutUser(user)])
    }

    /// Plans the first administrator: none may exist.
    pub fn set_up(&self, mut admin: NewUser, now: Timestamp) -> Result<Vec<Change>, IdentityError> {
        if self.has_admin() {
            return Err(IdentityError::SetUp);
        }
        admin.role = Role::Admin;
        self.create_user(admin, now)
    }

    /// Plans a change of a user.
    pub fn set_user(&self, name_or_id: &str, set: &UserSet) -> Result<Vec<Change>, IdentityError> {
        let before = self.user(name_or_id)?;
        let mut user = before.clone();
        if let Some(name) = set.name.as_deref().filter(|name| *name != before.name) {
            if !name::same(name, &before.name) {
                self.check_new_user(name)?;
            }
            name::check(name)?;
            name.clone_into(&mut user.name);
        }
        user.role = set.role.unwrap_or(user.role);
        user.locked = set.locked.unwrap_or(user.locked);
        if is_active_admin(before) && !is_active_admin(&user) {
            self.check_other_admin(before)?;
        }
        let has_other_rights = user.role != before.role || user.locked;
        let mut changes = if has_other_rights { self.sign_outs(user.id) } else { Vec::new() };
        changes.push(Change::PutUser(user));
        Ok(changes)
    }

    /// Plans a new password of a user. All sign-ins of the user end.
    pub fn set_password(
        &self,
        name_or_id: &str,
        password: PasswordHash,
        must_change: bool,
    ) -> Result<Vec<Change>, IdentityError> {
        let user = User { password, must_change, ..self.user(name_or_id)?.clone() };
        let mut changes = self.sign_outs(user.id);
        changes.push(Change::PutUser(user));
        Ok(changes)
    }

    /// Plans the deletion of a user and of all its sign-ins.
    pub fn delete_user(&self, name_or_id: &str) -> Result<Vec<Change>, IdentityError> {
        let user = self.user(name_or_id)?;
        if is_active_admin(user) {
            self.check_other_admin(user)?;
        }
        let mut changes = self.sign_outs(user.id);
        changes.push(Change::RemoveUser(user.id));
        Ok(changes)
    }

    fn check_other_admin(&self, user: &User) -> Result<(), IdentityError> {
        if self.users.values().any(|other| other.id != user.id && is_active_admin(other)) {
            Ok(())
        } else {
            Err(IdentityError::LastAdmin { name: user.name.clone() })
        }
    }

    fn sign_outs(&self, user: Uuid) -> Vec<Change> {
        let of_user = self.sign_ins.values().filter(|sign_in| sign_in.user == user);
        of_user.map(|sign_in| Change::RemoveSignIn(sign_in.id)).collect()
    }
}

fn is_active_admin(user: &User) -> bool {
    user.role == Role::Admin && !user.locked
}
