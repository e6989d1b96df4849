//! `windlass user`: people with a name, a password and a role.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column, wide};
use crate::secret::SecretSource;
use api::{Account, AccountCreate, AccountSet, PasswordSet, Role};

/// Verbs of `windlass user`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List users
    #[command(after_help = "Example:\n  windlass user list")]
    List,
    /// Show one user
    #[command(after_help = "Example:\n  windlass user show anna")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a user, who has to change the password at the first sign-in
    #[command(
        after_help = "Examples:\n  windlass user create anna --role admin\n  windlass user create vera --role viewer --password file:/root/vera --keep-password"
    )]
    Create {
        /// Name: letters, digits, '.', '_', '-' and '@'
        name: String,
        /// Role of the user: viewer, operator, admin
        #[arg(long, value_enum, hide_possible_values = true)]
        role: RoleName,
        /// Source of the password: prompt, - (standard input), file:PATH, env:NAME
        #[arg(long, value_name = "SOURCE", default_value = "prompt")]
        password: SecretSource,
        /// Keep this password: the first sign-in does not ask for another
        #[arg(long)]
        keep_password: bool,
    },
    /// Rename a user, change its role, lock or unlock it; another role and a lock end its sign-ins
    #[command(after_help = "Examples:\n  windlass user set vera --role operator\n  windlass user set otto --lock")]
    Set {
        /// Name or id
        name: String,
        /// New name
        #[arg(long = "name", value_name = "NEW-NAME")]
        new_name: Option<String>,
        /// Role of the user: viewer, operator, admin
        #[arg(long, value_enum, hide_possible_values = true)]
        role: Option<RoleName>,
        /// Lock the user out of sign-ins
        #[arg(long, conflicts_with = "unlock")]
        lock: bool,
        /// End the lock
        #[arg(long)]
        unlock: bool,
    },
    /// Set the password of a user, who has to change it at the next sign-in
    #[command(after_help = "Example:\n  windlass user password anna")]
    Password {
        /// Name or id
        name: String,
        /// Source of the password: prompt, - (standard input), file:PATH, env:NAME
        #[arg(long, value_name = "SOURCE", default_value = "prompt")]
        password: SecretSource,
    },
    /// Delete users and end their sign-ins
    #[command(after_help = "Example:\n  windlass user delete vera")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// Role, as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RoleName {
    /// Reads
    Viewer,
    /// Changes volumes, shares, snapshots, hosts and access, and runs jobs
    Operator,
    /// Everything
    Admin,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Viewer => Self::Viewer,
            RoleName::Operator => Self::Operator,
            RoleName::Admin => Self::Admin,
        }
    }
}

/// Word of a role.
pub(crate) const fn role(role: Role) -> &'static str {
    match role {
        Role::Viewer => "viewer",
        Role::Operator => "operator",
        Role::Admin => "admin",
    }
}

impl Resource for Account {
    const WHEN_EMPTY: &'static str = "no users; create the first admin:  windlass setup run NAME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |user| user.name.as_str().into()),
        column("role", |user| role(user.role).into()),
        column("state", |user| state(user).into()),
        column("last-sign-in", |user| user.last_sign_in.map(|time| format!("{time:.0}")).into()),
        wide("created", |user| format!("{:.0}", user.created).into()),
        wide("id", |user| user.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn state(user: &Account) -> &'static str {
    match (user.locked, user.must_change) {
        (true, _) => "locked",
        (false, true) => "password to change",
        (false, false) => "active",
    }
}

/// Reads a password; the array generates none.
pub(crate) fn password(source: &SecretSource) -> Result<String, CliError> {
    let none = || CliError::usage("write prompt, - (standard input), file:PATH or env:NAME".to_owned());
    source.read("Password")?.ok_or_else(none)
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<Account>("/api/v1/users").await?),
        Verb::Show { name } => output.show(&client.get::<Account>(&path(name)).await?),
        Verb::Create { name, role, password: source, keep_password } => {
            let password = password(source)?;
            let (name, role, must_change) = (name.clone(), Role::from(*role), !keep_password);
            let create = AccountCreate { name, role, password, must_change };
            output.made("user", &client.post::<Account>("/api/v1/users", &create).await?.body, true)
        }
        Verb::Set { name, new_name, role, lock, unlock } => {
            let locked = (*lock || *unlock).then_some(*lock);
            let set = AccountSet { name: new_name.clone(), role: role.map(Role::from), locked };
            if set == AccountSet::default() {
                return Err(CliError::usage("nothing to change: give --name, --role, --lock or --unlock".to_owned()));
            }
            output.made("user", &client.patch::<Account>(&path(name), &set).await?, true)
        }
        Verb::Password { name, password: source } => {
            let set = PasswordSet { password: password(source)?, present_password: None };
            client.put(&format!("{}/password", path(name)), &set).await?;
            output.report(&format!("password of user {name} set"));
            Ok(())
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete user", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete user {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("user {name} deleted"));
            }
            Ok(())
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/users/{}", segment(name))
}
