//! Who may do what on an array: users with a role and a password, tokens of programs with a role and
//! scopes, sign-ins of browsers, the set-up code of a new array, and the delays after wrong
//! passwords.
//!
//! The crate has no clock, no random numbers and no files: times and random bytes are arguments. A
//! request that changes something is *planned*: [`People`] checks it and returns [`Change`]s, and is
//! as before. The owner stores the changes and then applies them, so that what was refused or could
//! not be stored has no effect. The time of the last use alone changes in memory first.
#![forbid(unsafe_code)]

mod delays;
mod digest;
mod error;
mod glob;
mod name;
mod password;
mod people;
mod role;
mod setup;
mod sign_in;
mod token;
mod user;

pub use delays::Delays;
pub use digest::{Digest, hexadecimal};
pub use error::{Class, IdentityError, Noun};
pub use glob::Glob;
pub use name::{is_name, same as same_name};
pub use password::{PasswordFault, PasswordHash, SALT_BYTES};
pub use people::{BOOTSTRAP, Change, NewSignIn, NewToken, NewUser, People, Settings, UserSet};
pub use role::Role;
pub use setup::SetupCode;
pub use sign_in::{ABSOLUTE, DISPLAY, IDLE, SignIn};
pub use token::{Scopes, Token, token_text};
pub use user::User;
