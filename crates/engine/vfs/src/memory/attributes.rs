//! Attributes and extended attributes.

use super::blocks::Owner;
use super::lies::Lie;
use super::state::{Body, State};
use crate::{
    Attributes, Call, Changed, FsError, Kind, Limits, LinkTarget, Permission, SetAttributes, SetXattr, Timestamp,
    XattrName, policy,
};
use bytes::Bytes;

impl State {
    pub(super) fn set_attributes(
        &mut self,
        call: Call<'_>,
        owner: Owner,
        set: &SetAttributes,
        guard: Option<Timestamp>,
        limits: &Limits,
    ) -> Result<Changed, FsError> {
        self.writable(owner.0)?;
        let before = self.attributes(owner)?;
        if self.lies(Lie::AttributesAreSetInPart)
            && let Some(mode) = set.mode
        {
            self.inode_mut(owner)?.attributes.mode = mode;
        }
        let after = policy::set_attributes(&before, set, call)?;
        limits.check_size(set.size_bytes.unwrap_or(0))?;
        if guard.is_some_and(|guard| guard != before.changed) && !self.lies(Lie::GuardsIgnored) {
            return Err(FsError::GuardMismatch { changed: before.changed });
        }
        if *set == SetAttributes::default() {
            return self.changed(&before, owner);
        }
        if let Some(size_bytes) = set.size_bytes {
            self.resize(owner, size_bytes)?;
        }
        let inode = self.inode_mut(owner)?;
        inode.verifier = None;
        let attributes = &mut inode.attributes;
        let size_bytes = attributes.size_bytes;
        *attributes = Attributes { size_bytes, changed: before.changed, ..after };
        self.touch(owner, call.now)?;
        self.changed(&before, owner)
    }

    pub(super) fn read_link(&self, owner: Owner) -> Result<(LinkTarget, Attributes), FsError> {
        match &self.inode(owner)?.body {
            Body::Symlink(target) => Ok((target.clone(), self.attributes(owner)?)),
            Body::Directory(_) => Err(FsError::IsDirectory),
            _ => Err(FsError::WrongKind { kind: self.inode(owner)?.kind() }),
        }
    }

    /// Checks that a file has extended attributes, and that the call may use them so.
    fn check_xattrs(&self, call: Call<'_>, owner: Owner, needs: Permission) -> Result<(), FsError> {
        match self.inode(owner)?.kind() {
            Kind::File | Kind::Directory => self.permit(owner, call, needs),
            kind => Err(FsError::WrongKind { kind }),
        }
    }

    pub(super) fn xattr(&self, call: Call<'_>, owner: Owner, name: &XattrName) -> Result<Bytes, FsError> {
        self.check_xattrs(call, owner, Permission::Read)?;
        self.inode(owner)?.xattrs.get(name).cloned().ok_or(FsError::NoXattr)
    }

    pub(super) fn xattr_names(&self, call: Call<'_>, owner: Owner) -> Result<Vec<XattrName>, FsError> {
        self.check_xattrs(call, owner, Permission::Read)?;
        Ok(self.inode(owner)?.xattrs.keys().cloned().collect())
    }

    pub(super) fn set_xattr(
        &mut self,
        call: Call<'_>,
        owner: Owner,
        (name, value): (&XattrName, &Bytes),
        how: SetXattr,
        limits: &Limits,
    ) -> Result<Changed, FsError> {
        self.writable(owner.0)?;
        self.check_xattrs(call, owner, Permission::Write)?;
        let how = if self.lies(Lie::XattrsAreReplaced) { SetXattr::Either } else { how };
        let xattrs = &self.inode(owner)?.xattrs;
        match (how, xattrs.contains_key(name)) {
            (SetXattr::Create, true) => return Err(FsError::XattrExists),
            (SetXattr::Replace, false) => return Err(FsError::NoXattr),
            _ => {}
        }
        let others = xattrs.iter().filter(|(other, _)| *other != name);
        let sizes = others.map(|(name, value)| name.as_bytes().len() + value.len());
        let (names, bytes) =
            sizes.fold((1, name.as_bytes().len() + value.len()), |sum, size| (sum.0 + 1, sum.1 + size));
        let (limit_bytes, limit_names) = (limits.xattr_bytes, limits.xattr_names);
        if bytes > limit_bytes as usize || names > limit_names as usize {
            return Err(FsError::XattrsTooLarge { limit_bytes, limit_names });
        }
        let before = self.attributes(owner)?;
        let (name, value) = (name.detached(), Bytes::copy_from_slice(value));
        self.inode_mut(owner)?.xattrs.insert(name, value);
        if !self.lies(Lie::XattrsAreNoChange) {
            self.touch(owner, call.now)?;
        }
        self.changed(&before, owner)
    }

    pub(super) fn remove_xattr(&mut self, call: Call<'_>, owner: Owner, name: &XattrName) -> Result<Changed, FsError> {
        self.writable(owner.0)?;
        self.check_xattrs(call, owner, Permission::Write)?;
        let before = self.attributes(owner)?;
        self.inode_mut(owner)?.xattrs.remove(name).ok_or(FsError::NoXattr)?;
        self.touch(owner, call.now)?;
        self.changed(&before, owner)
    }
}
