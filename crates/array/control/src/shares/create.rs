//! `share create`: a new, empty share.

use crate::condition::Noun;
use crate::control::Control;
use crate::difference::Difference;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::record::Document;
use crate::request::{Outcome, Request};
use crate::shares::ShareView;
use crate::shares::error::ShareError;
use crate::shares::record::{CopyPolicy, Protocols, RootRecord, ShareRecord};
use pool::{ADDRESS_SPACE_BYTES, CEILING_UNIT_BYTES, CatalogChange, MAX_CEILING_BYTES};

/// Largest permission bits: set-user-ID, set-group-ID, sticky, and nine bits of access.
const MAX_MODE: u32 = 0o7777;
/// Epoch of the filehandles of a new share.
pub(super) const FIRST_EPOCH: u32 = 1;

/// Creates an empty share. A share of an existing name and the same parameters is not created
/// again; it has the files that hosts have written since.
#[derive(Clone, Debug)]
pub struct ShareCreate {
    /// Name, unique among shares and volumes.
    pub name: String,
    /// Pool, by name; the default pool if absent.
    pub pool: Option<String>,
    /// Owner and group of the root directory.
    pub owner: (u32, u32),
    /// Permission bits of the root directory.
    pub mode: u32,
    /// Protocols that serve the share.
    pub protocols: Protocols,
    /// Copy policy.
    pub copy: CopyPolicy,
    /// Largest space of the share, as in [`ShareSet`](super::ShareSet).
    pub quota_bytes: Option<u64>,
}

impl ShareCreate {
    /// Request with defaults: root directory of user 0 with mode 0755, all protocols.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            pool: None,
            owner: (0, 0),
            mode: 0o755,
            protocols: Protocols::ALL,
            copy: CopyPolicy::Share,
            quota_bytes: None,
        }
    }

    /// Checks the rules that do not depend on the state of the array.
    fn check(&self) -> Result<(), ControlError> {
        check_name(Noun::Share, &self.name)?;
        check_protocols(&self.name, self.protocols)?;
        if self.mode > MAX_MODE {
            return Err(ShareError::InvalidMode { mode: self.mode }.into());
        }
        self.quota_bytes.map_or(Ok(()), check_quota)
    }

    /// Checks that an existing share matches the request.
    fn check_same(&self, existing: &ShareRecord, quota_bytes: Option<u64>) -> Result<(), ControlError> {
        let root = &existing.root;
        let difference = if (root.uid, root.gid) != self.owner {
            Difference::Owner(root.uid, root.gid)
        } else if root.mode != self.mode {
            Difference::Mode(root.mode)
        } else if existing.protocols != self.protocols {
            Difference::Protocols(existing.protocols.name())
        } else if existing.copy != self.copy {
            Difference::Copy(existing.copy.name())
        } else if quota_bytes != self.quota_bytes {
            Difference::Quota(quota_bytes)
        } else if existing.source.is_some() {
            Difference::Clone
        } else {
            return Ok(());
        };
        Err(ControlError::Exists { noun: Noun::Share, name: existing.name.clone(), difference: Some(difference) })
    }
}

impl Request for ShareCreate {
    type Reply = Outcome<ShareView>;
    const NAME: &'static str = "share-create";

    async fn run(&self, control: &Control) -> Result<Outcome<ShareView>, ControlError> {
        self.check()?;
        control.pool_named(self.pool.as_deref())?;
        let _changes = control.lock_changes().await;
        let existing = control.directory().share(&self.name).ok().cloned();
        if let Some(existing) = existing {
            self.check_same(&existing, control.object(existing.object)?.ceiling_bytes)?;
            return Ok(Outcome::unchanged(control.show_share(existing).await?));
        }
        control.directory().check_name_free(&self.name)?;
        let object = control.catalog().new_object_id();
        let created = control.environment().now();
        let (uid, gid) = self.owner;
        let record = ShareRecord {
            id: new_id(&**control.environment()),
            object,
            name: self.name.clone(),
            fsid: control.new_fsid(),
            epoch: FIRST_EPOCH,
            root: RootRecord { uid, gid, mode: self.mode, born: created },
            protocols: self.protocols,
            copy: self.copy,
            created,
            source: None,
        };
        let mut changes = vec![CatalogChange::CreateVolume { id: object, size_bytes: ADDRESS_SPACE_BYTES }];
        if self.quota_bytes.is_some() {
            changes.push(CatalogChange::SetCeiling { id: object, ceiling_bytes: self.quota_bytes });
        }
        changes.push(record.put()?);
        control.commit(changes, vec![record.clone().into()], &[Change::ShareAdded { object }]).await?;
        let mut view = control.show_share(record).await?;
        view.warnings = control.space_warnings();
        Ok(Outcome::changed(view))
    }

    fn event(&self, outcome: &Outcome<ShareView>) -> Option<Draft> {
        let event = || Draft::info("share-created", &self.name, format!("share {} created", self.name));
        outcome.changed.then(event)
    }
}

impl Control {
    /// Random file system identifier that no share has; never 0.
    pub(super) fn new_fsid(&self) -> u64 {
        loop {
            let mut random = [0; 8];
            self.environment().fill_random(&mut random);
            let fsid = u64::from_be_bytes(random);
            if fsid != 0 && self.directory().shares().all(|share| share.fsid != fsid) {
                return fsid;
            }
        }
    }
}

/// Checks the size of a quota.
pub(super) fn check_quota(quota_bytes: u64) -> Result<(), ControlError> {
    match quota_bytes > 0 && quota_bytes <= MAX_CEILING_BYTES && quota_bytes.is_multiple_of(CEILING_UNIT_BYTES) {
        true => Ok(()),
        false => Err(ShareError::InvalidQuota { quota_bytes }.into()),
    }
}

/// Checks that a protocol serves the share.
pub(super) fn check_protocols(name: &str, protocols: Protocols) -> Result<(), ControlError> {
    match protocols {
        Protocols { v3: false, v4: false } => Err(ShareError::NoProtocol { name: name.to_owned() }.into()),
        _ => Ok(()),
    }
}
