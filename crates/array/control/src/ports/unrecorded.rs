//! New configured portals whose documents found no space in the pool at the start.

use super::{PortalOptions, assign};
use crate::catalog::DynCatalog;
use crate::control::Control;
use crate::directory::{ConfiguredPorts, Directory, Edit};
use crate::error::ControlError;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};
use crate::live::Change;
use crate::ports::record::PortalRecord;
use crate::record::Document;
use jiff::Timestamp;
use pool::{CatalogChange, PoolError};
use std::net::SocketAddr;

/// Advice for the administrator.
const HELP: &str = "make room in the pool, or in the file system or device below it; the portal takes logins as soon as it is recorded";

/// Identifiers of the configured portals, and changes that record new ones.
struct Assigned {
    /// Identifiers in the order of the configuration.
    identifiers: Vec<u16>,
    /// Records of new portals.
    new: Vec<PortalRecord>,
    changes: Vec<CatalogChange>,
}

impl Assigned {
    fn of(directory: &Directory, portals: &[PortalOptions], now: Timestamp) -> Result<Self, ControlError> {
        let known = directory.portals().map(|record| (record.identifier, record.clone())).collect();
        let (identifiers, new) = assign(known, portals, now)?;
        let changes = new.iter().map(Document::put).collect::<Result<_, _>>()?;
        Ok(Self { identifiers, new, changes })
    }
}

/// Finds the records of the configured portals and stores those of new ones. In a pool without
/// space for them, new portals get no identifier: an unrecorded one could be assigned to another
/// portal at the next start.
pub(crate) async fn record(
    catalog: &dyn DynCatalog,
    directory: &mut Directory,
    portals: &[PortalOptions],
    now: Timestamp,
) -> Result<(), ControlError> {
    let Assigned { mut identifiers, new, changes } = Assigned::of(directory, portals, now)?;
    match if changes.is_empty() { Ok(()) } else { catalog.commit(changes).await } {
        Ok(()) => new.into_iter().for_each(|record| directory.apply(record.into())),
        Err(PoolError::PoolFull) => {
            let recorded = |identifier: &u16| directory.portal_by_id(*identifier).is_some();
            identifiers.iter_mut().filter(|identifier| !recorded(identifier)).for_each(|identifier| *identifier = 0);
        }
        Err(error) => return Err(ControlError::from_pool(error, &catalog.space())),
    }
    directory.apply(Edit::ConfiguredPorts(ConfiguredPorts::new(identifiers, portals)));
    Ok(())
}

impl Control {
    /// Listening addresses of the portals without an identifier.
    fn unrecorded_portals(&self) -> Vec<SocketAddr> {
        let directory = self.directory();
        let configured = directory.port_identifiers().iter().zip(self.portal_options());
        configured.filter(|(identifier, _)| **identifier == 0).map(|(_, portal)| portal.listen).collect()
    }

    /// Raises an event for each of them at the start.
    pub(crate) fn report_unrecorded_portals(&self) {
        for listen in self.unrecorded_portals() {
            let message = format!("{}: {HELP}", unrecorded(listen));
            self.raise(Draft::new(Severity::Critical, "portal-unrecorded", listen.to_string(), message));
        }
    }

    /// Alerts, one for each of them.
    pub(crate) fn portal_alerts(&self) -> Vec<AlertView> {
        let alert = |listen: SocketAddr| AlertView {
            code: "portal-unrecorded",
            severity: Severity::Critical,
            subject: listen.to_string(),
            since: self.started(),
            message: unrecorded(listen),
            help: HELP,
            note: None,
        };
        self.unrecorded_portals().into_iter().map(alert).collect()
    }

    /// Retries to record them. On failure the alerts stay.
    pub(crate) async fn record_portals(&self) {
        let before = self.unrecorded_portals();
        if before.is_empty() {
            return;
        }
        let _changes = self.lock_changes().await;
        let assigned = Assigned::of(&self.directory(), self.portal_options(), self.environment().now());
        let Ok(Assigned { identifiers, new, changes }) = assigned else { return };
        let configured = ConfiguredPorts::new(identifiers, self.portal_options());
        let edits = new.into_iter().map(Edit::from).chain([Edit::ConfiguredPorts(configured)]).collect();
        if self.commit(changes, edits, &[Change::PortGroupsChanged]).await.is_err() {
            return;
        }
        for listen in before {
            let message = format!("portal {listen} is recorded and takes logins");
            self.raise(Draft::info("portal-recorded", listen.to_string(), message));
        }
    }
}

fn unrecorded(listen: SocketAddr) -> String {
    format!("portal {listen} is new and takes no logins: the pool has no room to record its identifier")
}
