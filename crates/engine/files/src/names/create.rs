//! Creation of a file, or the one that exists.

use super::{Climb, Climbing, Directory, entry, key};
use crate::content::LIMITS;
use crate::halt::Step;
use crate::layout::inode::{INLINE_BYTES, Inode, Times};
use crate::regions::class_of;
use crate::share::{Share, blank};
use crate::tree::Found;
use vfs::{
    Attributes, Before, Call, ChangeValue, Created, Exclusive, FileId, FsError, Kind, LinkTarget, Name, New, NewKind,
    policy,
};

/// A creation that was named.
#[derive(Clone)]
pub(crate) struct Draft {
    before: Before,
    directory: FileId,
    file: FileId,
    created: bool,
}

impl Draft {
    /// File that is created, or the one that exists.
    pub(super) const fn file(&self) -> FileId {
        self.file
    }

    /// Result after the execution.
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Created> {
        let (_, file) = share.both(self.file)?;
        Ok(Created { file, directory: share.changed(self.before, self.directory)?, created: self.created })
    }
}

impl Share<'_> {
    pub(crate) fn create(
        &mut self,
        call: Call<'_>,
        directory: FileId,
        name: &Name,
        new: &New,
        known: Option<Climb>,
    ) -> Step<Climbing<Draft>> {
        self.writable()?;
        let mut directory = self.searchable(call, directory)?;
        let (found, free) = self.entry(&directory, name.as_bytes())?;
        if let Some(found) = found {
            return self.create_existing(call, &directory, &found, new).map(Ok);
        }
        policy::check_entries(&directory.before, call.caller)?;
        if new.what.kind() == Kind::Directory
            && let Some(climb) = self.climb(known, directory.file, None)?
        {
            return Ok(Err(climb));
        }
        let (mut inode, size_bytes) = new_inode(call, &directory, new)?;
        let (key, file) = (key(free)?, self.next_file()?);
        inode.parent_key = key;
        self.fill(file, &mut inode, size_bytes, new)?;
        inode.change = self.next_change()?;
        self.effects().changed_at(inode.times.changed);
        self.add_entry(directory.file, &mut directory.inode, &entry(key, file, &inode, name))?;
        if inode.kind == Kind::Directory {
            directory.inode.links += 1;
        }
        self.put(file, &inode)?;
        self.touch_content(directory.file, &mut directory.inode, call.now)?;
        self.put(directory.file, &directory.inode)?;
        if let NewKind::File { hold: true, .. } = new.what {
            self.effects().hold(file, true);
        }
        Ok(Ok(Draft { before: Before::from(&directory.before), directory: directory.file, file, created: true }))
    }

    /// Gives a new file its content: the size, or the target.
    fn fill(&mut self, file: FileId, inode: &mut Inode, size_bytes: u64, new: &New) -> Step<()> {
        match &new.what {
            NewKind::Symlink(target) => self.set_target(file, inode, target),
            NewKind::File { exclusive, .. } => {
                if let Exclusive::Verifier(verifier) = exclusive {
                    inode.verifier = Some(*verifier);
                }
                self.resize(file, inode, size_bytes)
            }
            _ => Ok(()),
        }
    }

    fn set_target(&mut self, file: FileId, inode: &mut Inode, target: &LinkTarget) -> Step<()> {
        let bytes = target.bytes();
        inode.size_bytes = bytes.len() as u64;
        if bytes.len() <= INLINE_BYTES {
            inode.target.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            return Ok(());
        }
        let region = self.new_region(class_of(inode.size_bytes)?, file)?;
        inode.region = Some(region);
        let object = self.object();
        self.name().write(object, region.byte(0), bytes.clone().into());
        Ok(())
    }

    /// Creation of a name that exists.
    fn create_existing(&mut self, call: Call<'_>, directory: &Directory, found: &Found, new: &New) -> Step<Draft> {
        let (file, mut inode) = (found.file, self.inode_of(found, directory.file)?);
        let exists = FsError::Exists { file, kind: inode.kind };
        let (NewKind::File { exclusive, hold }, Kind::File) = (&new.what, inode.kind) else {
            return Err(exists.into());
        };
        let attributes = self.attributes(file, &inode)?;
        match exclusive {
            Exclusive::Yes => return Err(exists.into()),
            Exclusive::Verifier(verifier) if inode.verifier != Some(*verifier) => return Err(exists.into()),
            Exclusive::No if new.attributes.size_bytes == Some(0) => {
                policy::check_write(&attributes, call)?;
                self.resize(file, &mut inode, 0)?;
                inode.mode = policy::mode_after_change(&attributes, call.caller);
                self.touch_content(file, &mut inode, call.now)?;
                self.put(file, &inode)?;
            }
            _ => {}
        }
        if *hold {
            self.effects().hold(file, true);
        }
        Ok(Draft { before: Before::from(&directory.before), directory: directory.file, file, created: false })
    }
}

/// Inode of a new file without content, and the size that it shall have.
fn new_inode(call: Call<'_>, directory: &Directory, new: &New) -> Step<(Inode, u64)> {
    let blank_attributes = Attributes {
        kind: new.what.kind(),
        device: new.what.device(),
        links: 1,
        size_bytes: 0,
        change: ChangeValue(0),
        ..directory.before
    };
    let attributes = policy::new_file(&blank_attributes, &directory.before, &new.attributes, call)?;
    let size_bytes = new.attributes.size_bytes.unwrap_or(0);
    LIMITS.check_size(size_bytes)?;
    let Attributes { accessed, modified, changed, born, .. } = attributes;
    let inode = Inode {
        mode: attributes.mode,
        user: attributes.user,
        group: attributes.group,
        links: if attributes.kind == Kind::Directory { 2 } else { 1 },
        times: Times { accessed, modified, changed, born },
        device: attributes.device,
        ..blank(attributes.kind, directory.file)
    };
    Ok((inode, size_bytes))
}
