//! Extended attributes of regular files and directories.

use crate::attributes::flat;
use crate::content::{Draft, LIMITS};
use crate::engine::BLOCK_BYTES;
use crate::halt::{Step, damaged};
use crate::layout::inode::Inode;
use crate::layout::xattrs::{Xattrs, decode, encode};
use crate::share::{Share, xattr_region};
use bytes::Bytes;
use vfs::{Attributes, Call, FileId, FsError, Kind, Permission, SetXattr, XattrName, policy};

impl Share<'_> {
    /// A file with extended attributes, which the call may use so.
    fn with_xattrs(&mut self, call: Call<'_>, file: FileId, needs: Permission) -> Step<(Inode, Attributes, Xattrs)> {
        let (inode, attributes) = self.both(file)?;
        match inode.kind {
            Kind::File | Kind::Directory => policy::check(&attributes, call.caller, needs)?,
            kind => return Err(FsError::WrongKind { kind }.into()),
        }
        Ok((inode, attributes, self.xattrs(file, &inode)?))
    }

    /// Extended attributes of a file.
    pub(crate) fn xattrs(&mut self, file: FileId, inode: &Inode) -> Step<Xattrs> {
        let Some(region) = xattr_region(file, inode.xattr_bytes) else { return Ok(Xattrs::new()) };
        if u64::from(inode.xattr_bytes) > region.class.blocks() * BLOCK_BYTES || inode.xattr_bytes > 1 << 16 {
            return Err(damaged(file).into());
        }
        let object = self.object();
        let bytes = region.bytes(0..u64::from(inode.xattr_bytes));
        let stored = flat(self.look().read(object, bytes).map_err(|missing| missing.of(file))?);
        Ok(decode(&stored).map_err(|()| damaged(file))?)
    }

    pub(crate) fn xattr(&mut self, call: Call<'_>, file: FileId, name: &XattrName) -> Step<Bytes> {
        let (_, _, xattrs) = self.with_xattrs(call, file, Permission::Read)?;
        Ok(xattrs.get(name).cloned().ok_or(FsError::NoXattr)?)
    }

    pub(crate) fn xattr_names(&mut self, call: Call<'_>, file: FileId) -> Step<Vec<XattrName>> {
        let (_, _, xattrs) = self.with_xattrs(call, file, Permission::Read)?;
        Ok(xattrs.into_keys().collect())
    }

    pub(crate) fn set_xattr(
        &mut self,
        call: Call<'_>,
        file: FileId,
        (name, value): (&XattrName, &Bytes),
        how: SetXattr,
    ) -> Step<Draft> {
        self.writable()?;
        let (inode, before, mut xattrs) = self.with_xattrs(call, file, Permission::Write)?;
        match (how, xattrs.contains_key(name)) {
            (SetXattr::Create, true) => return Err(FsError::XattrExists.into()),
            (SetXattr::Replace, false) => return Err(FsError::NoXattr.into()),
            _ => {}
        }
        xattrs.insert(name.clone(), value.clone());
        let bytes: usize = xattrs.iter().map(|(name, value)| name.as_bytes().len().saturating_add(value.len())).sum();
        let (limit_bytes, limit_names) = (LIMITS.xattr_bytes, LIMITS.xattr_names);
        if bytes > limit_bytes as usize || xattrs.len() > limit_names as usize {
            return Err(FsError::XattrsTooLarge { limit_bytes, limit_names }.into());
        }
        let inode = self.put_xattrs(call, file, inode, &xattrs)?;
        Ok(Draft::new(file, &before, inode))
    }

    pub(crate) fn remove_xattr(&mut self, call: Call<'_>, file: FileId, name: &XattrName) -> Step<Draft> {
        self.writable()?;
        let (inode, before, mut xattrs) = self.with_xattrs(call, file, Permission::Write)?;
        xattrs.remove(name).ok_or(FsError::NoXattr)?;
        let inode = self.put_xattrs(call, file, inode, &xattrs)?;
        Ok(Draft::new(file, &before, inode))
    }

    /// Stores the attributes, in the region that their length asks for. Returns the inode with it.
    fn put_xattrs(&mut self, call: Call<'_>, file: FileId, mut inode: Inode, xattrs: &Xattrs) -> Step<Inode> {
        let (stored, object) = (encode(xattrs), self.object());
        let old = xattr_region(file, inode.xattr_bytes);
        inode.xattr_bytes = stored.len() as u32;
        let new = xattr_region(file, inode.xattr_bytes);
        if let Some(old) = old {
            let kept = if new == Some(old) { stored.len() as u64 } else { 0 };
            self.name().zero(object, old.bytes(kept..old.class.blocks() * BLOCK_BYTES));
        }
        if let Some(new) = new {
            if Some(new) != old {
                self.expect(new, file)?;
            }
            self.name().write(object, new.byte(0), stored.into());
        }
        self.touch(file, &mut inode, call.now)?;
        self.put(file, &inode)?;
        Ok(inode)
    }
}
