//! Sessions: list and drop.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::hosts::initiator::Initiator;
use crate::live::SessionInfo;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::request::Request;
use std::net::SocketAddr;

/// Lists sessions by number: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct SessionList {
    /// Only sessions of this host, by name or id.
    pub host: Option<String>,
    /// Only sessions over this portal, `ADDRESS:PORT`.
    pub portal: Option<SocketAddr>,
}

/// Drops a session; the initiator may log in again.
#[derive(Clone, Debug)]
pub struct SessionDrop {
    /// Number of the session.
    pub id: u64,
}

/// Session with names.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Host of the initiator.
    pub host: Option<String>,
    /// State of the session.
    pub session: SessionInfo,
}

impl Read for SessionList {
    type Reply = Vec<SessionView>;
    const NAME: &'static str = "session-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<SessionView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for SessionList {
    type View = SessionView;
    type Row = SessionInfo;
    const COLUMNS: &'static [Column<SessionInfo>] = &[
        column("id", |_, session| session.id.into()),
        column("initiator", |_, session| session.initiator.as_str().into()),
        column("host", |facts, session| host_name(facts, session).into()),
        column("portal", |_, session| session.portal.to_string().as_str().into()),
        column("since", |_, session| session.since.into()),
        column("last_io", |_, session| session.last_io.into()),
        column("commands", |_, session| session.commands.into()),
        column("read_bytes", |_, session| session.read_bytes.into()),
        column("written_bytes", |_, session| session.written_bytes.into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, SessionInfo)>, ControlError> {
        let host = self.host.as_deref().map(|host| facts.directory().host(host)).transpose()?;
        let is_of_host = |session: &SessionInfo| {
            host.is_none_or(|host| host.initiators.contains(&Initiator::of(&session.initiator)))
        };
        let sessions = facts.sessions().iter();
        let sessions = sessions.filter(|session| self.portal.is_none_or(|portal| session.portal == portal));
        let sessions = sessions.filter(|session| is_of_host(session));
        let mut rows: Vec<(String, SessionInfo)> =
            sessions.map(|session| (format!("{:020}", session.id), session.clone())).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, session: &SessionInfo) -> Vec<String> {
        let texts = [session.initiator.clone(), session.peer_address.to_string(), session.portal.to_string()];
        texts.into_iter().chain(host_name(facts, session).map(str::to_owned)).collect()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<SessionInfo>) -> Vec<SessionView> {
        let host = |session: &SessionInfo| host_name(facts, session).map(str::to_owned);
        rows.into_iter().map(|session| SessionView { host: host(&session), session }).collect()
    }
}

/// Name of the host of a session.
fn host_name<'a>(facts: &'a dyn Facts, session: &SessionInfo) -> Option<&'a str> {
    facts.directory().host_of(&session.initiator).map(|host| host.name.as_str())
}

impl Request for SessionDrop {
    type Reply = ();
    const NAME: &'static str = "session-drop";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        if control.live().drop_session(self.id) {
            Ok(())
        } else {
            Err(ControlError::NotFound { noun: Noun::Session, name: self.id.to_string() })
        }
    }

    fn event(&self, (): &()) -> Option<Draft> {
        Some(Draft::info("session-dropped", self.id.to_string(), format!("session {} dropped", self.id)))
    }
}

impl Rehearsed for SessionDrop {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let sessions = control.live().sessions();
        let missing = || ControlError::NotFound { noun: Noun::Session, name: self.id.to_string() };
        let session = sessions.iter().find(|session| session.id == self.id).ok_or_else(missing)?;
        let why = "its commands in progress fail; the initiator may log in again at once";
        Ok(Rehearsal::default().breaks_users([control.session_user(session)], why))
    }
}

impl Control {
    /// Session as a user of an object.
    pub(crate) fn session_user(&self, session: &SessionInfo) -> User {
        let now = self.environment().now();
        let last = session.last_io.map_or("no I/O yet".to_owned(), |time| {
            format!("last I/O {} s ago", now.duration_since(time).as_secs().max(0))
        });
        let description =
            format!("{} from {}, {last} (id {})", session.initiator, session.peer_address.ip(), session.id);
        User { kind: UserKind::Session, description }
    }
}
