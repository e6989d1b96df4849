//! What is doubtful about the paths of a host, from its sessions, logins and grants.

use crate::facts::Facts;
use crate::hosts::HostRecord;
use crate::live::{LoginOutcome, SessionInfo};
use crate::logins::LoginView;
use crate::ports::PortalView;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Time without a command after which a session is called silent.
const SILENT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Difference of the largest segments from which on frames differ, and not only headers.
const JUMBO: u32 = 1000;
/// Largest LUN that ESXi before 6.5 looks for.
const OLD_MAX_LUN: u16 = 255;
/// Beginning of the initiator names that ESXi makes.
const ESXI: &str = "iqn.1998-01.com.vmware:";

/// Doubtful state of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWarning {
    /// Stable name: `one-path`, `one-path-used`, `unequal-mss`, `logins-refused`, `no-chap`, `silent` or
    /// `lun-above-255`.
    pub code: &'static str,
    /// Text, with what helps.
    pub text: String,
}

/// What is looked at.
pub(crate) struct Looked<'a> {
    pub host: &'a HostRecord,
    pub sessions: &'a [&'a SessionInfo],
    pub portals: &'a [PortalView],
    /// Login attempts of the host, newest first.
    pub logins: &'a [LoginView],
    pub now: Timestamp,
}

impl Looked<'_> {
    /// All warnings, in a fixed order.
    pub(crate) fn warnings(&self, facts: &dyn Facts) -> Vec<HostWarning> {
        let warning = |code, text: Option<String>| text.map(|text| HostWarning { code, text });
        let all = [
            warning("one-path", self.one_path()),
            warning("one-path-used", self.one_path_used()),
            warning("unequal-mss", self.unequal_segments()),
            warning("logins-refused", self.refused()),
            warning("no-chap", self.no_chap()),
            warning("silent", self.silent()),
            warning("lun-above-255", self.high_lun(facts)),
        ];
        all.into_iter().flatten().collect()
    }

    /// Portals that accept logins.
    fn open_portals(&self) -> impl Iterator<Item = &PortalView> {
        self.portals.iter().filter(|portal| portal.redirect.is_none())
    }

    /// Sessions of each initiator: a host with several is a cluster of machines with paths of their own.
    fn machines(&self) -> BTreeMap<String, Vec<&SessionInfo>> {
        let mut machines: BTreeMap<String, Vec<&SessionInfo>> = BTreeMap::new();
        for session in self.sessions {
            machines.entry(session.initiator.to_ascii_lowercase()).or_default().push(session);
        }
        machines
    }

    /// The host, or its machine with this initiator, as the beginning of a sentence.
    fn name_of(&self, initiator: &str) -> String {
        if self.host.initiators.len() > 1 { format!("initiator {initiator}") } else { "it".to_owned() }
    }

    fn one_path(&self) -> Option<String> {
        self.machines().into_iter().find_map(|(initiator, sessions)| {
            let used: BTreeSet<u16> = sessions.iter().map(|session| session.target_port).collect();
            let mut unused = self.open_portals().filter(|portal| !used.contains(&portal.identifier));
            let portal = unused.next().filter(|_| used.len() == 1)?;
            let (who, address) = (self.name_of(&initiator), &portal.portal.advertised);
            Some(format!("{who} has one path: log in at portal {address} too, to survive the loss of the other one"))
        })
    }

    fn one_path_used(&self) -> Option<String> {
        let transfers = |session: &&&SessionInfo| session.seen.units.iter().any(|unit| unit.transferred);
        self.machines().into_iter().find_map(|(initiator, sessions)| {
            let (used, paths) = (sessions.iter().filter(transfers).count(), sessions.len());
            (paths > 1 && used == 1).then(|| {
                let who = self.name_of(&initiator);
                format!("{who} reads and writes over one of {paths} paths: check its multipathing, such as round robin")
            })
        })
    }

    fn unequal_segments(&self) -> Option<String> {
        let known = || self.sessions.iter().filter_map(|session| Some((session.mss_bytes?, *session)));
        let (least, slow) = known().min_by_key(|(mss, _)| *mss)?;
        let (most, fast) = known().max_by_key(|(mss, _)| *mss)?;
        (most.saturating_sub(least) >= JUMBO).then(|| {
            let (slow, fast) = (slow.peer_address.ip(), fast.peer_address.ip());
            format!(
                "TCP segments have {least} bytes with {slow} and {most} with {fast}: jumbo frames are not on along every \
                 path; set one MTU on its ports, the switches and the array"
            )
        })
    }

    fn refused(&self) -> Option<String> {
        let last = self.logins.iter().find(|login| !login.attempt.knock.discovery)?;
        let knock = &last.attempt.knock;
        let is_refused = !matches!(knock.outcome, LoginOutcome::Ok | LoginOutcome::Redirected);
        is_refused.then(|| format!("its last login, from {}, was refused: {}", knock.from, knock.detail))
    }

    fn no_chap(&self) -> Option<String> {
        (self.host.chap.is_none() && !self.host.initiators.is_empty()).then(|| {
            "it need not authenticate: any machine that uses its initiator name gets its volumes; require CHAP"
                .to_owned()
        })
    }

    fn silent(&self) -> Option<String> {
        let last = self.sessions.iter().map(|session| session.last_io.unwrap_or(session.since)).max()?;
        let silence = self.now.duration_since(last);
        (silence >= SILENT).then(|| {
            let days = silence.as_hours() / 24;
            format!("it is logged in, and has sent no command for {days} days: log it out if nothing needs it")
        })
    }

    fn high_lun(&self, facts: &dyn Facts) -> Option<String> {
        let name = self.host.initiators.iter().map(ToString::to_string).find(|name| name.starts_with(ESXI))?;
        let nexus = facts.directory().nexus(&name);
        let lun = nexus.logical_units.iter().map(|unit| unit.lun).max().filter(|lun| *lun > OLD_MAX_LUN)?;
        Some(format!(
            "LUN {lun} is above {OLD_MAX_LUN}, and ESXi before 6.5 does not look for it: grant the volume at a smaller one"
        ))
    }
}
