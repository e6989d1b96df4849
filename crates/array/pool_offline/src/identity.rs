//! `windlass pool new-identity FILE`: gives a copy of a pool a new identity.
//!
//! The identity of an array is a random number in the pool. Target name, NAA designators and serial
//! numbers of its logical units are derived from it, so hosts take two arrays on copies of one pool
//! for one array. A new identity is one commit: after a crash the pool has the old one or the new
//! one.

use std::fmt::{Display, Formatter};
use std::path::Path;

use bytes::Bytes;
use control::{ArrayRecord, Naa, VolumeRecord};
use media::{LocalMedia, Media, OpenOptions, Overlay, Span};
use pool::{CatalogChange, Core, Failure, Operation, Options, PoolError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::check::CheckStage;
use crate::error::CheckError;
use crate::outcome::counted;

/// Key of the document that holds the array's identity.
const ARRAY: &str = "array";
/// Prefix of the documents of volumes.
const VOLUMES: &str = "volume/";
/// Prefix of the documents of persistent reservations.
const RESERVATIONS: &str = "reservations/";

/// Old and new identity. Serializes to the JSON of `windlass pool new-identity -o json`, whose
/// fields are only ever added to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewIdentity {
    /// Path of the file or device, as given.
    pub file: String,
    /// Old identity.
    pub old_id: Uuid,
    /// New identity.
    pub new_id: Uuid,
    /// False if the change was only planned.
    pub changed: bool,
    /// All volumes, by name.
    pub volumes: Vec<VolumeIdentity>,
    /// Number of volumes whose persistent reservations are removed, because they belong to hosts of
    /// the original.
    pub reservations_removed: usize,
}

/// Designators of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VolumeIdentity {
    /// Name.
    pub name: String,
    /// Old designator.
    pub old_naa: Naa,
    /// New designator; its last 25 digits are the serial number.
    pub new_naa: Naa,
}

impl Display for NewIdentity {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let state = if self.changed { "new identity" } else { "the file was not changed" };
        writeln!(f, "{}: {state}", self.file)?;
        let suffix = |id: &Uuid| id.simple().to_string().chars().take(12).collect::<String>();
        writeln!(f, "  target name  …:{} → …:{}", suffix(&self.old_id), suffix(&self.new_id))?;
        for VolumeIdentity { name, old_naa, new_naa } in &self.volumes {
            writeln!(f, "  {name}  naa.{old_naa} → naa.{new_naa}")?;
        }
        if self.reservations_removed > 0 {
            writeln!(
                f,
                "  persistent reservations removed from {}",
                counted(self.reservations_removed as u64, "volume")
            )?;
        }
        Ok(())
    }
}

/// Plans a new identity. The file is opened read-only.
pub fn plan_identity(
    path: &Path,
    new_id: Uuid,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<NewIdentity, CheckError> {
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let core = open_core(Overlay::new(open_media(path, &open)?), path, progress)?;
    Ok(plan(&core, path, new_id)?.0)
}

/// Gives the pool in `path` the identity `new_id`. Durable on return.
pub fn change_identity(
    path: &Path,
    new_id: Uuid,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<NewIdentity, CheckError> {
    let mut core = open_core(open_media(path, &OpenOptions::default())?, path, progress)?;
    let (identity, changes) = plan(&core, path, new_id)?;
    let unchanged = |reason| CheckError::Unchanged { path: path.display().to_string(), reason };
    commit(&mut core, changes).map_err(unchanged)?;
    core.checkpoint().map_err(|reason| CheckError::Interrupted { path: path.display().to_string(), reason })?;
    Ok(NewIdentity { changed: true, ..identity })
}

/// Opens the medium of a pool that consists of one file or device. The other members of a pool are
/// found by their paths, so a copied first member would be opened with the members of the original.
fn open_media(path: &Path, open: &OpenOptions) -> Result<LocalMedia<Span>, CheckError> {
    let span = Span::open(path, open)?;
    let members = span.paths().len();
    if members > 1 {
        return Err(CheckError::SeveralMembers { path: path.display().to_string(), members });
    }
    LocalMedia::open(span).map_err(|reason| CheckError::NoPool { path: path.display().to_string(), reason })
}

fn open_core<M: Media>(media: M, path: &Path, progress: &mut dyn FnMut(CheckStage)) -> Result<Core<M>, CheckError> {
    let options = Options { incarnation: Uuid::new_v4().as_u64_pair().0, ..Options::default() };
    let (core, _) = Core::open(media, options, &mut |log_bytes| progress(CheckStage::Replaying { log_bytes }))
        .map_err(|reason| CheckError::Unrecoverable { path: path.display().to_string(), reason })?;
    Ok(core)
}

/// Returns the new identity and the changes of the documents that contain it.
fn plan<M: Media>(core: &Core<M>, path: &Path, new_id: Uuid) -> Result<(NewIdentity, Vec<CatalogChange>), CheckError> {
    let file = path.display().to_string();
    let documents = core.documents();
    let Some(array) = documents.get(ARRAY) else {
        let what = "the pool has no identity yet; it gets one when it is served for the first time".to_owned();
        return Err(CheckError::NotThere { path: file, what });
    };
    let array: ArrayRecord = read(&file, ARRAY, array)?;
    let mut changes = vec![write(&file, ARRAY, &ArrayRecord { id: new_id, ..array.clone() })?];
    let mut volumes = Vec::new();
    let mut reservations_removed = 0;
    for (key, value) in documents.iter() {
        if key.starts_with(VOLUMES) {
            let volume: VolumeRecord = read(&file, key, value)?;
            let new_naa = Naa::of(new_id, volume.object);
            volumes.push(VolumeIdentity { name: volume.name.clone(), old_naa: volume.naa, new_naa });
            changes.push(write(&file, key, &VolumeRecord { naa: new_naa, ..volume })?);
        } else if key.starts_with(RESERVATIONS) {
            reservations_removed += 1;
            changes.push(CatalogChange::DeleteDocument { key: key.clone() });
        }
    }
    volumes.sort_by(|one, other| one.name.cmp(&other.name));
    let identity = NewIdentity { file, old_id: array.id, new_id, changed: false, volumes, reservations_removed };
    Ok((identity, changes))
}

fn read<T: DeserializeOwned>(file: &str, key: &str, value: &[u8]) -> Result<T, CheckError> {
    let unreadable = |error| CheckError::Document { path: file.to_owned(), key: key.to_owned(), reason: error };
    serde_json::from_slice(value).map_err(unreadable)
}

fn write<T: Serialize>(file: &str, key: &str, document: &T) -> Result<CatalogChange, CheckError> {
    let failed = |error| CheckError::Document { path: file.to_owned(), key: key.to_owned(), reason: error };
    let value = Bytes::from(serde_json::to_vec(document).map_err(failed)?);
    Ok(CatalogChange::PutDocument { key: key.to_owned(), value })
}

/// Commits the changes atomically.
fn commit<M: Media>(core: &mut Core<M>, changes: Vec<CatalogChange>) -> Result<(), PoolError> {
    let id = core.submit(Operation::Catalog(changes));
    loop {
        core.pump(0);
        while let Some((finished, result)) = core.poll_finished() {
            if finished == id {
                return match result {
                    Ok(_) => Ok(()),
                    Err(Failure::Pool(reason)) => Err(reason),
                    Err(reason @ (Failure::Block(_) | Failure::Unreadable { .. })) => {
                        Err(PoolError::Stopped(reason.to_string()))
                    }
                };
            }
        }
        core.wait();
    }
}
