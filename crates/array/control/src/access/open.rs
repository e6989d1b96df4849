//! Alert for what every host may use, known or not, without a password.

use super::To;
use crate::control::Control;
use crate::effect::names_in_words;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::exports::ExportTo;

impl Control {
    /// Alert for volumes and shares that are open to everybody.
    pub(crate) fn open_access_alert(&self) -> Option<AlertView> {
        let directory = self.directory();
        let volumes = directory.access_for(To::Any).filter_map(|access| {
            directory.volume_by_id(access.volume).map(|volume| (format!("volume {}", volume.name), access.created))
        });
        let shares = directory.exports().filter(|export| export.to == ExportTo::Any).filter_map(|export| {
            directory.share_by_id(export.share).map(|share| (format!("share {}", share.name), export.created))
        });
        let open: Vec<_> = volumes.chain(shares).collect();
        let since = open.iter().map(|(_, since)| *since).min()?;
        let mut names: Vec<String> = open.into_iter().map(|(name, _)| name).collect();
        names.sort();
        Some(AlertView {
            code: "open-access",
            severity: Severity::Info,
            subject: "array".to_owned(),
            since,
            message: format!("every host may use {}, known or not", names_in_words(&names)),
            help: "grant it to hosts instead, and revoke the grant to any host",
            note: None,
        })
    }
}
