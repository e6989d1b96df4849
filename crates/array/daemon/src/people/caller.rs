//! The author of a request.

use identity::{Role, Scopes, SignIn, Token, User};
use std::net::IpAddr;
use uuid::Uuid;

/// Kind of author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerKind {
    /// A user who has signed in.
    User,
    /// A program with a token.
    Token,
    /// A process that opened the administrative socket.
    Local,
}

impl CallerKind {
    /// Word of the kind.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Token => "token",
            Self::Local => "local",
        }
    }
}

/// Author of a request, who has proven its identity.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Kind.
    pub kind: CallerKind,
    /// Name of the user or token; `uid:N` of a local process.
    pub name: String,
    /// Id of the user or token.
    pub id: Option<Uuid>,
    /// User of a local process.
    pub uid: Option<u32>,
    /// Address.
    pub from: Option<IpAddr>,
    /// What it may do.
    pub role: Role,
    /// What it is limited to.
    pub scopes: Scopes,
    /// Its sign-in.
    pub sign_in: Option<Uuid>,
    /// True: it may only change its password.
    pub must_change: bool,
}

impl Caller {
    pub(super) fn user(user: &User, sign_in: &SignIn, from: IpAddr) -> Self {
        Self {
            kind: CallerKind::User,
            name: user.name.clone(),
            id: Some(user.id),
            uid: None,
            from: Some(from),
            role: user.role,
            scopes: Scopes::default(),
            sign_in: Some(sign_in.id),
            must_change: user.must_change,
        }
    }

    pub(super) fn token(token: &Token, from: IpAddr) -> Self {
        Self {
            kind: CallerKind::Token,
            name: token.name.clone(),
            id: Some(token.id),
            uid: None,
            from: Some(from),
            role: token.role,
            scopes: token.scopes.clone(),
            sign_in: None,
            must_change: false,
        }
    }

    /// Process on the administrative socket: root and the user of the array are admins. All others
    /// could open the socket because they are in its group, and are operators.
    pub(crate) fn local(uid: u32) -> Self {
        let is_owner = uid == 0 || uid == rustix::process::geteuid().as_raw();
        Self {
            kind: CallerKind::Local,
            name: format!("uid:{uid}"),
            id: None,
            uid: Some(uid),
            from: None,
            role: if is_owner { Role::Admin } else { Role::Operator },
            scopes: Scopes::default(),
            sign_in: None,
            must_change: false,
        }
    }
}
