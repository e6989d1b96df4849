//! What a procedure sees of its call, and the files to which its handles lead.

use super::wire;
use crate::access::Permit;
use crate::connection::CallFacts;
use crate::handle::{HandleKey, Target};
use crate::reservations::{Access, Opens};
use crate::shares::{Share, Shares};
use nfs::v3::{self, Filehandle, Status, WccData};
use std::cell::{Ref, RefCell};
use std::rc::Rc;
use vfs::{Attributes, Call, Changed, FileId, FileSystem, Kind, Limits, Timestamp};

/// What a procedure sees of its call.
pub(crate) struct Context<'a, F> {
    shares: &'a RefCell<Shares<F>>,
    /// Key of handles.
    pub handle_key: &'a HandleKey,
    /// Files that clients of NFSv4 have open.
    pub opens: &'a dyn Opens,
    /// The call.
    pub call: CallFacts<'a>,
}

/// File of a share, as the caller may use it.
pub(crate) struct File<'a, F> {
    share: Rc<Share<F>>,
    permit: Permit,
    handle_key: &'a HandleKey,
    now: Timestamp,
    /// The file. It may no longer exist.
    pub id: FileId,
}

impl<'a, F> Context<'a, F> {
    /// Context of a call.
    pub const fn new(
        shares: &'a RefCell<Shares<F>>,
        handle_key: &'a HandleKey,
        opens: &'a dyn Opens,
        call: CallFacts<'a>,
    ) -> Self {
        Self { shares, handle_key, opens, call }
    }

    /// Published shares. Must not be borrowed over an await.
    pub fn shares(&self) -> Ref<'a, Shares<F>> {
        self.shares.borrow()
    }
}

impl<'a, F: FileSystem> Context<'a, F> {
    /// File of a handle.
    ///
    /// * `BADHANDLE`: the server has not made it for NFSv3.
    /// * `STALE`: its share is gone, or has new handles.
    /// * `ACCES`: no rule of the share is for the caller.
    pub fn file(&self, handle: &Filehandle) -> Result<File<'a, F>, Status> {
        let Some(Target::File { object, epoch, file }) = self.handle_key.open(handle) else {
            return Err(Status::BADHANDLE);
        };
        let share = self.shares.borrow().by_object(object).filter(|share| share.epoch == epoch).cloned();
        self.open(&share.ok_or(Status::STALE)?, file)
    }

    /// File of a share. `ACCES`: the share is not for the caller.
    pub fn open(&self, share: &Rc<Share<F>>, id: FileId) -> Result<File<'a, F>, Status> {
        let permit = share.rules.permit(self.call.connection.client, self.call.credential);
        let permit = permit.ok().filter(|_| share.protocols.v3).ok_or(Status::ACCES)?;
        let share = Rc::clone(share);
        Ok(File { share, permit, handle_key: self.handle_key, now: self.call.moment.now, id })
    }

    /// The place where calls without an open are checked against share reservations. `JUKEBOX`: an open
    /// of another client denies the access, and the client retries until it ends.
    pub fn check_reservations(&self, file: &File<'_, F>, id: FileId, access: Access) -> Result<(), Status> {
        if self.opens.denies(file.share.object, id, access) { Err(Status::JUKEBOX) } else { Ok(()) }
    }

    /// The place where a removal or replacement of a name is checked against opens. `JUKEBOX`: an open of the file
    /// denies it, or may be reclaimed, and the client retries until then.
    pub fn check_removal(&self, directory: &File<'_, F>, file: &Attributes) -> Result<(), Status> {
        let may = file.kind != Kind::File || self.opens.permits_removal(directory.share.object, file.file);
        if may { Ok(()) } else { Err(Status::JUKEBOX) }
    }
}

impl<F: FileSystem> File<'_, F> {
    /// Its share.
    pub fn share(&self) -> &Share<F> {
        &self.share
    }

    /// The files of its share.
    pub fn files(&self) -> &F {
        &self.share.file_system
    }

    /// Limits of the file system.
    pub fn limits(&self) -> Limits {
        self.files().limits()
    }

    /// The caller's call, by mode bits.
    pub const fn call(&self) -> Call<'_> {
        Call::new(&self.permit.caller, self.now)
    }

    /// Object of its share.
    pub fn object(&self) -> u64 {
        self.share.object
    }

    /// Whether the two are files of one share.
    pub fn same_share(&self, other: &Self) -> bool {
        self.share.object == other.share.object
    }

    /// Whether every change is refused.
    pub fn read_only(&self) -> bool {
        self.permit.read_only || self.files().read_only()
    }

    /// `ROFS` if every change is refused.
    pub fn check_writable(&self) -> Result<(), Status> {
        if self.read_only() { Err(Status::ROFS) } else { Ok(()) }
    }

    /// Handle of a file of the share.
    pub fn handle(&self, file: FileId) -> Filehandle {
        let target = Target::File { object: self.share.object, epoch: self.share.epoch, file };
        Filehandle::from(&self.handle_key.seal(target)[..])
    }

    /// Attributes on the wire.
    pub fn wire(&self, file: &Attributes) -> v3::Attributes {
        wire::attributes(file, wire::fsid(&self.share.fsid))
    }

    /// A change on the wire.
    pub fn wcc(&self, changed: &Changed) -> WccData {
        wire::changed(changed, wire::fsid(&self.share.fsid))
    }

    /// No change on the wire.
    pub fn wcc_of(&self, file: &Attributes) -> WccData {
        wire::unchanged(file, wire::fsid(&self.share.fsid))
    }

    /// Attributes of the file for the results of a procedure that failed.
    pub async fn attributes(&self) -> Option<v3::Attributes> {
        self.files().attributes(self.id).await.ok().map(|file| self.wire(&file))
    }

    /// The file for the results of a procedure that failed, and has changed nothing.
    pub async fn wcc_unchanged(&self) -> WccData {
        match self.files().attributes(self.id).await {
            Ok(file) => self.wcc_of(&file),
            Err(_) => WccData { before: None, after: None },
        }
    }
}
