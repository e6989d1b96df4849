//! `windlass portal` and `windlass portal-group`: the addresses that hosts connect to, and the
//! access state of each group of portals.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use api::{AccessState, PortGroup, PortGroupSet, Portal, PortalSet};

/// Verbs of `windlass portal`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List portals
    #[command(after_help = "Example:\n  windlass portal list")]
    List,
    /// Show one portal
    #[command(after_help = "Example:\n  windlass portal show 10.0.0.50:3260")]
    Show {
        /// Number, or the address that the portal listens on
        portal: String,
    },
    /// Move a portal to another target port group, or redirect its logins
    #[command(
        after_help = "Examples:\n  windlass portal set 10.0.1.50:3260 --group 2\n  windlass portal set 10.0.1.50:3260 --redirect 10.0.0.50:3260    logins are told to go there for now\n  windlass portal set 10.0.1.50:3260 --no-redirect"
    )]
    Set {
        /// Number, or the address that the portal listens on
        portal: String,
        /// Target port group
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
        group: Option<u16>,
        /// Redirect logins to this address
        #[arg(long, value_name = "ADDRESS:PORT")]
        redirect: Option<String>,
        /// Make the redirect permanent: initiators may remember the address
        #[arg(long, requires = "redirect")]
        permanently: bool,
        /// Stop redirecting, and accept logins again
        #[arg(long, conflicts_with = "redirect")]
        no_redirect: bool,
        /// Apply the change even if hosts lose their last active path
        #[arg(long)]
        force: bool,
    },
}

/// Verbs of `windlass portal-group`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum GroupVerb {
    /// List target port groups
    #[command(after_help = "Example:\n  windlass portal-group list")]
    List,
    /// Show one target port group
    #[command(after_help = "Example:\n  windlass portal-group show 2")]
    Show {
        /// Number of the group
        group: u16,
    },
    /// Set the access state of the portals of a group
    #[command(
        after_help = "Examples:\n  windlass portal-group set 2 --state active-non-optimized\n  windlass portal-group set 2 --state standby    before work on its network\n  windlass portal-group set 1 --preferred on\n\nWhat would leave a host without an active path is refused, unless --force is given."
    )]
    Set {
        /// Number of the group
        group: u16,
        /// New state
        #[arg(long, value_enum)]
        state: Option<State>,
        /// Make hosts prefer this group to others in the same state
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
        preferred: Option<Switch>,
        /// Apply the change even if hosts lose their last active path
        #[arg(long)]
        force: bool,
    },
}

/// Asymmetric access states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum State {
    /// Every command works, on a preferred path
    ActiveOptimized,
    /// Every command works; other paths are better
    ActiveNonOptimized,
    /// Commands that access the medium are refused
    Standby,
    /// Like standby, with fewer commands
    Unavailable,
    /// The state is changing; hosts retry
    Transitioning,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl State {
    fn wanted(self) -> AccessState {
        match self {
            Self::ActiveOptimized => AccessState::ActiveOptimized,
            Self::ActiveNonOptimized => AccessState::ActiveNonOptimized,
            Self::Standby => AccessState::Standby,
            Self::Unavailable => AccessState::Unavailable,
            Self::Transitioning => AccessState::Transitioning,
        }
    }
}

fn word(state: AccessState) -> &'static str {
    match state {
        AccessState::ActiveOptimized => "active-optimized",
        AccessState::ActiveNonOptimized => "active-non-optimized",
        AccessState::Standby => "standby",
        AccessState::Unavailable => "unavailable",
        AccessState::Transitioning => "transitioning",
    }
}

impl Resource for Portal {
    const WHEN_EMPTY: &'static str = "the array has no portal";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |portal| Value::Number(u64::from(portal.id))),
        column("listen", |portal| portal.listen.as_str().into()),
        minor("advertised", |portal| portal.advertised.as_str().into()),
        column("group", |portal| Value::Number(u64::from(portal.group))),
        column("state", |portal| word(portal.state).into()),
        minor("redirect", |portal| portal.redirect.clone().into()),
        wide("target", |portal| portal.target.as_str().into()),
    ];

    fn name(&self) -> String {
        self.listen.clone()
    }
}

impl Resource for PortGroup {
    const WHEN_EMPTY: &'static str = "the array has no portal";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |group| Value::Number(u64::from(group.id))),
        column("state", |group| word(group.state).into()),
        column("preferred", |group| if group.preferred { "yes" } else { "no" }.into()),
        column("portals", |group| group.portals.join(" ").into()),
        column("sessions", |group| Value::Number(group.sessions)),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<Portal>("/api/v1/portals").await?),
        Verb::Show { portal } => output.show(&client.get::<Portal>(&path(portal)).await?),
        Verb::Set { portal, group, redirect, permanently, no_redirect, force } => {
            if group.is_none() && redirect.is_none() && !no_redirect {
                let message = "nothing to change: give --group, --redirect or --no-redirect";
                return Err(CliError::usage(message.to_owned()));
            }
            let set = PortalSet {
                group: *group,
                redirect: redirect.clone(),
                redirect_permanently: *permanently,
                remove_redirect: *no_redirect,
                force: *force,
            };
            output.made("portal", &client.patch::<Portal>(&path(portal), &set).await?, true)
        }
    }
}

pub(crate) async fn run_group(verb: &GroupVerb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let path = |group: u16| format!("/api/v1/portal-groups/{group}");
    match verb {
        GroupVerb::List => output.list(&client.list::<PortGroup>("/api/v1/portal-groups").await?),
        GroupVerb::Show { group } => output.show(&client.get::<PortGroup>(&path(*group)).await?),
        GroupVerb::Set { group, state, preferred, force } => {
            if state.is_none() && preferred.is_none() {
                return Err(CliError::usage("nothing to change: give --state or --preferred".to_owned()));
            }
            let set = PortGroupSet {
                state: state.map(State::wanted),
                preferred: preferred.map(|preferred| preferred == Switch::On),
                force: *force,
            };
            output.made("portal-group", &client.patch::<PortGroup>(&path(*group), &set).await?, true)
        }
    }
}

fn path(portal: &str) -> String {
    format!("/api/v1/portals/{}", segment(portal))
}
