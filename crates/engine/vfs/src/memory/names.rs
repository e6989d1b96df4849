//! Names: look-up, listing, creation, links, removal, renaming, holds.

use super::blocks::{Mapping, Owner};
use super::lies::Lie;
use super::state::{Body, Directory, Inode, ROOT, State};
use crate::{
    Attributes, Call, ChangeValue, Cookie, Created, Entry, Exclusive, Expect, FileId, FileSystemId, Found, FsError,
    Kind, Limits, Linked, Listing, Name, New, NewKind, Permission, Place, Removed, Removes, Renamed, SpaceReason,
    policy,
};
use std::ops::Bound;

impl State {
    /// File of a name, if there is one. The name's directory must exist and permit look-ups.
    fn find(&self, call: Call<'_>, directory: Owner, name: &Name) -> Result<Option<Owner>, FsError> {
        let found = self.directory(directory)?;
        self.permit(directory, call, Permission::Execute)?;
        if self.lies(Lie::NamesFoldCase) {
            let folded = name.as_bytes().to_ascii_lowercase();
            let mut entries = found.entries.values();
            return Ok(entries
                .find(|(name, _)| name.as_bytes().to_ascii_lowercase() == folded)
                .map(|(_, file)| (directory.0, *file)));
        }
        Ok(found.find(name).map(|file| (directory.0, file)))
    }

    /// Checks mode bits.
    pub(super) fn permit(&self, owner: Owner, call: Call<'_>, needs: Permission) -> Result<(), FsError> {
        if self.lies(Lie::ModeBitsIgnored) {
            return Ok(());
        }
        policy::check(&self.inode(owner)?.attributes, call.caller, needs)
    }

    fn permit_entries(&self, directory: Owner, call: Call<'_>) -> Result<(), FsError> {
        self.permit(directory, call, Permission::Execute)?;
        self.permit(directory, call, Permission::Write)
    }

    /// Checks whether a caller may take this file's name away.
    fn permit_removal(&self, directory: Owner, file: Owner, call: Call<'_>) -> Result<(), FsError> {
        if self.lies(Lie::ModeBitsIgnored) {
            return Ok(());
        }
        policy::check_removal(&self.inode(directory)?.attributes, &self.inode(file)?.attributes, call.caller)
    }

    pub(super) fn lookup(&self, call: Call<'_>, directory: Owner, name: &Name) -> Result<Found, FsError> {
        let file = self.find(call, directory, name)?.ok_or(FsError::NotFound)?;
        Ok(Found { file: self.attributes(file)?, directory: self.attributes(directory)? })
    }

    pub(super) fn parent(&self, call: Call<'_>, directory: Owner) -> Result<Attributes, FsError> {
        let parent = self.directory(directory)?.parent;
        self.permit(directory, call, Permission::Execute)?;
        self.attributes((directory.0, parent))
    }

    pub(super) fn list(
        &mut self,
        call: Call<'_>,
        directory: Owner,
        after: Cookie,
        most: usize,
        attributes: bool,
    ) -> Result<Listing, FsError> {
        self.directory(directory)?;
        self.permit(directory, call, Permission::Read)?;
        self.access(directory, call.now)?;
        let all = &self.directory(directory)?.entries;
        let by_position = self.lies(Lie::CookiesArePositions);
        let skipped = if by_position { usize::try_from(after.0.saturating_sub(255)).unwrap_or(usize::MAX) } else { 0 };
        let behind = if by_position { Bound::Unbounded } else { Bound::Excluded(after) };
        let mut entries = all.range((behind, Bound::Unbounded)).skip(skipped).zip(256 + skipped as u64..);
        let mut listed = Vec::new();
        for ((cookie, (name, file)), position) in entries.by_ref().take(most.max(1)) {
            let owner = (directory.0, *file);
            listed.push(Entry {
                cookie: if by_position { Cookie(position) } else { *cookie },
                name: name.clone(),
                file: *file,
                kind: self.inode(owner)?.kind(),
                attributes: attributes.then(|| self.attributes(owner)),
            });
        }
        let end = entries.next().is_none();
        Ok(Listing { entries: listed, end, directory: self.attributes(directory)? })
    }

    pub(super) fn create(
        &mut self,
        call: Call<'_>,
        directory: Owner,
        name: &Name,
        new: &New,
        limits: &Limits,
    ) -> Result<Created, FsError> {
        self.writable(directory.0)?;
        if let Some(file) = self.find(call, directory, name)? {
            return self.create_existing(call, directory, file, new);
        }
        self.permit_entries(directory, call)?;
        let before = self.attributes(directory)?;
        let id = FileId(self.share(directory.0)?.next_file);
        let blank = Attributes {
            file: id,
            kind: new.what.kind(),
            device: new.what.device(),
            links: if matches!(new.what, NewKind::Directory) { 2 } else { 1 },
            size_bytes: 0,
            change: ChangeValue(0),
            ..before
        };
        let mut attributes = policy::new_file(&blank, &before, &new.attributes, call)?;
        attributes.size_bytes = match &new.what {
            NewKind::Symlink(target) => target.bytes().len() as u64,
            _ => new.attributes.size_bytes.unwrap_or(0),
        };
        limits.check_size(attributes.size_bytes)?;
        if self.share(directory.0)?.files.len() as u64 >= self.share(directory.0)?.most_files {
            return Err(FsError::NoSpace(SpaceReason::Files));
        }
        if !self.directory_mut(directory)?.set(name, id) {
            return Err(FsError::NoSpace(SpaceReason::Collisions));
        }
        let file = (directory.0, id);
        self.insert(directory, file, attributes, new)?;
        if !self.lies(Lie::DirectoriesKeepTheirChange) {
            self.touch_content(directory, call.now)?;
        }
        let directory = self.changed(&before, directory)?;
        Ok(Created { file: self.attributes(file)?, directory, created: true })
    }

    /// Adds the inode of a new file.
    fn insert(&mut self, directory: Owner, file: Owner, attributes: Attributes, new: &New) -> Result<(), FsError> {
        let (mut verifier, mut holds) = (None, false);
        let body = match &new.what {
            NewKind::File { exclusive, hold } => {
                holds = *hold;
                if let Exclusive::Verifier(value) = exclusive {
                    verifier = Some(*value);
                }
                Body::File(Mapping::default())
            }
            NewKind::Directory => Body::Directory(Directory::new(directory.1)),
            NewKind::Symlink(target) => Body::Symlink(target.clone()),
            _ => Body::Special,
        };
        if attributes.kind == Kind::Directory && !self.lies(Lie::SubdirectoriesAreNoLinks) {
            self.inode_mut(directory)?.attributes.links += 1;
        }
        let share = self.share_mut(file.0)?;
        share.next_file += 1;
        share.change += 1;
        let attributes = Attributes { change: ChangeValue(share.change), ..attributes };
        share.files.insert(file.1, Inode { attributes, verifier, xattrs: Default::default(), body });
        if holds {
            *share.holds.entry(file.1).or_default() += 1;
        }
        Ok(())
    }

    /// Creation of a name that exists.
    fn create_existing(
        &mut self,
        call: Call<'_>,
        directory: Owner,
        file: Owner,
        new: &New,
    ) -> Result<Created, FsError> {
        let inode = self.inode(file)?;
        let exists = FsError::Exists { file: file.1, kind: inode.kind() };
        let (NewKind::File { exclusive, hold }, Kind::File) = (&new.what, inode.kind()) else { return Err(exists) };
        let (exclusive, hold) = (*exclusive, *hold);
        match exclusive {
            Exclusive::Yes => return Err(exists),
            Exclusive::Verifier(verifier) => {
                if inode.verifier != Some(verifier) && !self.lies(Lie::VerifiersIgnored) {
                    return Err(exists);
                }
            }
            Exclusive::No => {
                let all = self.lies(Lie::ExistingFileIsReset);
                if new.attributes.size_bytes == Some(0) {
                    policy::check_write(&inode.attributes, call)?;
                    self.resize(file, 0)?;
                    self.clear_set_id(file, call)?;
                    self.touch_content(file, call.now)?;
                }
                if let (true, Some(mode)) = (all, new.attributes.mode) {
                    self.inode_mut(file)?.attributes.mode = mode;
                }
            }
        }
        if hold {
            *self.share_mut(file.0)?.holds.entry(file.1).or_default() += 1;
        }
        let unchanged = self.attributes(directory)?;
        let directory = self.changed(&unchanged, directory)?;
        Ok(Created { file: self.attributes(file)?, directory, created: false })
    }

    pub(super) fn link(
        &mut self,
        call: Call<'_>,
        file: Owner,
        directory: Owner,
        name: &Name,
        limits: &Limits,
    ) -> Result<Linked, FsError> {
        self.writable(file.0)?;
        self.directory(directory)?;
        if self.inode(file)?.kind() == Kind::Directory {
            return Err(FsError::IsDirectory);
        }
        let existing = self.find(call, directory, name)?;
        self.permit_entries(directory, call)?;
        let (before, file_before) = (self.attributes(directory)?, self.attributes(file)?);
        if file_before.links == 0 {
            return Err(FsError::NotFound);
        }
        if let Some(existing) = existing {
            return Err(FsError::Exists { file: existing.1, kind: self.inode(existing)?.kind() });
        }
        if file_before.links >= limits.links && !self.lies(Lie::LinksUnlimited) {
            return Err(FsError::TooManyLinks { limit: limits.links });
        }
        if !self.directory_mut(directory)?.set(name, file.1) {
            return Err(FsError::NoSpace(SpaceReason::Collisions));
        }
        self.inode_mut(file)?.attributes.links += 1;
        self.touch(file, call.now)?;
        self.touch_content(directory, call.now)?;
        Ok(Linked { directory: self.changed(&before, directory)?, file: self.changed(&file_before, file)? })
    }

    pub(super) fn remove(
        &mut self,
        call: Call<'_>,
        directory: Owner,
        name: &Name,
        removes: Removes,
        expect: Expect,
    ) -> Result<Removed, FsError> {
        self.writable(directory.0)?;
        let found = self.find(call, directory, name)?;
        self.permit_entries(directory, call)?;
        let file = found.ok_or(FsError::NotFound)?;
        if !self.lies(Lie::ExpectationsIgnored) {
            expect.check(Some(file.1))?;
        }
        removes.check(self.inode(file)?.kind())?;
        self.permit_removal(directory, file, call)?;
        if !self.lies(Lie::FullDirectoriesGo) {
            self.check_empty(file)?;
        }
        let before = self.attributes(directory)?;
        self.directory_mut(directory)?.remove(name);
        let removed = self.unlink(call, directory, file)?;
        self.touch_content(directory, call.now)?;
        Ok(Removed { directory: self.changed(&before, directory)?, file: removed })
    }

    /// [`FsError::NotEmpty`] for a directory with entries.
    fn check_empty(&self, file: Owner) -> Result<(), FsError> {
        match &self.inode(file)?.body {
            Body::Directory(directory) if !directory.entries.is_empty() => Err(FsError::NotEmpty),
            _ => Ok(()),
        }
    }

    /// Takes one name from a file, whose entry is gone or replaced. Returns its attributes after that.
    fn unlink(&mut self, call: Call<'_>, directory: Owner, file: Owner) -> Result<Attributes, FsError> {
        self.touch(file, call.now)?;
        let inode = self.inode_mut(file)?;
        if inode.kind() == Kind::Directory {
            inode.attributes.links = 0;
            self.inode_mut(directory)?.attributes.links -= 1;
        } else {
            inode.attributes.links -= 1;
        }
        let after = self.attributes(file)?;
        let held = self.share(file.0)?.holds.contains_key(&file.1) && !self.lies(Lie::HoldsIgnored);
        if after.links == 0 && !held {
            self.delete(file)?;
        }
        Ok(after)
    }

    pub(super) fn rename(
        &mut self,
        call: Call<'_>,
        share: FileSystemId,
        (from, to): (Place<'_>, Place<'_>),
        expect: Expect,
    ) -> Result<Renamed, FsError> {
        self.writable(share)?;
        let (old, new) = ((share, from.directory), (share, to.directory));
        self.directory(old)?;
        self.directory(new)?;
        let (found, replaced) = (self.find(call, old, from.name)?, self.find(call, new, to.name)?);
        self.permit_entries(old, call)?;
        self.permit_entries(new, call)?;
        let file = found.ok_or(FsError::NotFound)?;
        if !self.lies(Lie::ExpectationsIgnored) {
            expect.check(replaced.map(|(_, file)| file))?;
        }
        let before = (self.attributes(old)?, self.attributes(new)?);
        let result = |state: &Self, replaced| {
            Ok(Renamed {
                from: state.changed(&before.0, old)?,
                to: state.changed(&before.1, new)?,
                file: state.attributes(file)?,
                replaced,
            })
        };
        if replaced == Some(file) {
            if self.lies(Lie::RenameToItselfUnlinks) && from.name != to.name {
                self.directory_mut(old)?.remove(from.name);
                self.unlink(call, old, file)?;
            }
            return result(self, None);
        }
        self.check_rename(call, (old, new), file, replaced)?;
        self.directory_mut(old)?.remove(from.name);
        if !self.directory_mut(new)?.set(to.name, file.1) {
            self.directory_mut(old)?.set(from.name, file.1);
            return Err(FsError::NoSpace(SpaceReason::Collisions));
        }
        let replaced = match replaced {
            Some(_) if self.lies(Lie::ReplacedFilesStay) => None,
            Some(replaced) => Some(self.unlink(call, new, replaced)?),
            None => None,
        };
        if self.inode(file)?.kind() == Kind::Directory && old != new && !self.lies(Lie::MovedDirectoriesKeepParents) {
            self.directory_mut(file)?.parent = new.1;
            self.inode_mut(old)?.attributes.links -= 1;
            self.inode_mut(new)?.attributes.links += 1;
        }
        self.touch(file, call.now)?;
        self.touch_content(old, call.now)?;
        if old != new {
            self.touch_content(new, call.now)?;
        }
        result(self, replaced)
    }

    /// Checks kinds, permissions and the tree for a rename.
    fn check_rename(
        &self,
        call: Call<'_>,
        (old, new): (Owner, Owner),
        file: Owner,
        replaced: Option<Owner>,
    ) -> Result<(), FsError> {
        let moves_directory = self.inode(file)?.kind() == Kind::Directory;
        if moves_directory && !self.lies(Lie::RenameMakesCycles) {
            let mut ancestor = new.1;
            while ancestor != ROOT {
                if ancestor == file.1 {
                    return Err(FsError::IntoItself);
                }
                ancestor = self.directory((new.0, ancestor))?.parent;
            }
        }
        self.permit_removal(old, file, call)?;
        if moves_directory && old != new {
            self.permit(file, call, Permission::Write)?;
        }
        let Some(replaced) = replaced else { return Ok(()) };
        match (moves_directory, self.inode(replaced)?.kind()) {
            (true, kind) => FsError::need_directory(kind)?,
            (false, Kind::Directory) => return Err(FsError::IsDirectory),
            (false, _) => {}
        }
        self.permit_removal(new, replaced, call)?;
        if self.lies(Lie::FullDirectoriesGo) { Ok(()) } else { self.check_empty(replaced) }
    }

    pub(super) fn hold(&mut self, file: Owner) -> Result<Attributes, FsError> {
        FsError::need_file(self.inode(file)?.kind())?;
        *self.share_mut(file.0)?.holds.entry(file.1).or_default() += 1;
        self.attributes(file)
    }

    pub(super) fn release(&mut self, file: Owner) -> Result<(), FsError> {
        let share = self.share_mut(file.0)?;
        let holds = share.holds.get_mut(&file.1).ok_or(FsError::Stale)?;
        *holds -= 1;
        if *holds > 0 {
            return Ok(());
        }
        share.holds.remove(&file.1);
        if self.inode(file)?.attributes.links == 0 && !self.lies(Lie::ReleasedFilesStay) {
            self.delete(file)?;
        }
        Ok(())
    }

    /// Files without a name and without a hold.
    pub(super) fn unheld(&self, share: FileSystemId) -> Result<Vec<FileId>, FsError> {
        let share = self.share(share)?;
        let unnamed = share.files.iter().filter(|(_, inode)| inode.attributes.links == 0).map(|(file, _)| *file);
        Ok(unnamed.filter(|file| !share.holds.contains_key(file)).collect())
    }

    pub(super) fn drop_unheld(&mut self, share: FileSystemId) -> Result<u64, FsError> {
        self.writable(share)?;
        let unheld = self.unheld(share)?;
        for file in &unheld {
            self.delete((share, *file))?;
        }
        Ok(unheld.len() as u64)
    }
}
