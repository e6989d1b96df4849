//! Inodes, one by one: fields, content, extended attributes.

use super::{Check, Found, Known, Problem};
use crate::content::LIMITS;
use crate::engine::{BLOCK_BYTES, Engine};
use crate::halt::Step;
use crate::layout::address::{
    Class, FIRST_FILE, INODES_PER_BLOCK, ORPHANS, Part, ROOT, Region, first_file_of, inode_table,
};
use crate::layout::inode::{INLINE_BYTES, Inode};
use crate::share::{Share, regions};
use std::ops::Range;
use vfs::{Attributes, FileId, FsError, Kind, Segment};

/// Inode as the check sees it.
enum Seen {
    Free,
    Damaged,
    Inode(Box<Inode>),
}

impl<E: Engine> Check<'_, E> {
    /// Checks all inodes, and takes note of them.
    pub(super) async fn inodes(&mut self) -> Result<(), FsError> {
        let mut blocks = inode_table();
        loop {
            let (object, rest) = (self.files.object(), blocks.clone());
            let next = self.look(|share| share.look().next_mapped(object, rest.clone()).map_err(|lack| lack.of(ROOT)));
            let Found::Fine(block) = next.await? else { break };
            if block >= blocks.end {
                break;
            }
            blocks.start = block + 1;
            let first = first_file_of(block);
            for number in first..first + INODES_PER_BLOCK {
                self.inode(FileId(number)).await?;
            }
        }
        for file in [ROOT, ORPHANS] {
            let initial = Known { kind: Kind::Directory, links: 2, names: 0, directories: 0, parent: file };
            self.known.entry(file).or_insert(initial);
        }
        Ok(())
    }

    async fn inode(&mut self, file: FileId) -> Result<(), FsError> {
        let seen = self.look(|share| see(share, file)).await?;
        let inode = match seen {
            Found::Fine(Seen::Free) => return Ok(()),
            Found::Fine(Seen::Inode(inode)) => inode,
            Found::Fine(Seen::Damaged) | Found::Damage => {
                self.report(file, Problem::Unreadable { what: "the inode" });
                return Ok(());
            }
        };
        let Inode { kind, links, .. } = *inode;
        self.known.insert(file, Known { kind, links, names: 0, directories: 0, parent: inode.parent });
        for problem in fields(file, &inode, &self.super_block) {
            self.report(file, problem);
        }
        self.regions.extend(regions(file, &inode).map(|region| (region, file)));
        match kind {
            Kind::File => self.content(file, &inode).await?,
            Kind::Symlink => self.check_target(file).await?,
            _ => {}
        }
        match self.look(|share| share.xattrs(file, &inode)).await? {
            Found::Fine(xattrs) if xattrs.len() <= LIMITS.xattr_names as usize => Ok(()),
            _ => {
                self.report(file, Problem::Xattrs);
                Ok(())
            }
        }
    }

    /// Checks what lies behind the end of a regular file.
    async fn content(&mut self, file: FileId, inode: &Inode) -> Result<(), FsError> {
        let Some(region) = inode.region else { return Ok(()) };
        let end = inode.size_bytes.div_ceil(BLOCK_BYTES).min(region.class.blocks());
        let behind = region.first() + end..region.blocks().end;
        let tail = inode.size_bytes.min(end * BLOCK_BYTES)..end * BLOCK_BYTES;
        match self.look(|share| is_clean(share, file, behind.clone(), region.bytes(tail.clone()))).await? {
            Found::Fine((true, true)) => {}
            Found::Fine((content, allotments)) => {
                if !content {
                    self.report(file, Problem::BehindTheEnd);
                }
                if !allotments {
                    self.report(file, Problem::AllocationBehindTheEnd);
                }
            }
            Found::Damage => self.report(file, Problem::Unreadable { what: "the last block" }),
        }
        Ok(())
    }

    async fn check_target(&mut self, file: FileId) -> Result<(), FsError> {
        let target: Found<(vfs::LinkTarget, Attributes)> = self.look(|share| share.read_link(file)).await?;
        if matches!(target, Found::Damage) {
            self.report(file, Problem::Unreadable { what: "the target" });
        }
        Ok(())
    }
}

fn see(share: &mut Share<'_>, file: FileId) -> Step<Seen> {
    let (block, bytes) = crate::layout::address::inode_at(file);
    let stored = share.block(block, file)?.get(bytes).unwrap_or_default();
    Ok(match Inode::decode(stored, file) {
        Ok(None) => Seen::Free,
        Ok(Some(inode)) => Seen::Inode(Box::new(inode)),
        Err(()) => Seen::Damaged,
    })
}

/// Whether no content, and no allotment, lies behind the end of a file.
fn is_clean(share: &mut Share<'_>, file: FileId, behind: Range<u64>, tail: Range<u64>) -> Step<(bool, bool)> {
    let object = share.object();
    let view = share.look();
    let mapped = view.mapped(object, behind.clone()).map_err(|missing| missing.of(file))?;
    let tail = view.read(object, tail).map_err(|missing| missing.of(file))?;
    let zeros = |segment: &Segment| match segment {
        Segment::Data(data) => data.iter().all(|byte| *byte == 0),
        Segment::Hole { .. } => true,
    };
    let allotted = view.allotted(object, behind);
    Ok((mapped == 0 && tail.iter().all(zeros), allotted.is_empty()))
}

/// Fields of an inode that cannot be right.
fn fields(file: FileId, inode: &Inode, super_block: &crate::layout::super_block::SuperBlock) -> Vec<Problem> {
    let mut wrong = Vec::new();
    let mut check = |field, fine: bool| {
        if !fine {
            wrong.push(Problem::Field { field });
        }
    };
    let fixed = file == ROOT || file == ORPHANS;
    check("number", fixed || (file.0 >= FIRST_FILE && file.0 < super_block.file_high));
    check("change value", inode.change < super_block.change_high);
    check("region", region_is_right(file, inode));
    check("number of links", inode.links <= LIMITS.links || inode.kind == Kind::Directory);
    let has_xattrs = matches!(inode.kind, Kind::File | Kind::Directory);
    check("length of extended attributes", inode.xattr_bytes <= 1 << 16 && (has_xattrs || inode.xattr_bytes == 0));
    check("kind", !fixed || inode.kind == Kind::Directory);
    wrong
}

/// Whether the region is one that a file of this kind and size can have.
fn region_is_right(file: FileId, inode: &Inode) -> bool {
    let smallest = match inode.kind {
        Kind::File if inode.size_bytes > 0 => Class::of_size(inode.size_bytes),
        Kind::Symlink if inode.size_bytes > INLINE_BYTES as u64 => Class::of_size(inode.size_bytes),
        Kind::Directory if inode.region.is_some() => Some(Class::T),
        Kind::Directory if inode.entries > 0 => return false,
        Kind::File if inode.size_bytes > LIMITS.file_bytes => return false,
        _ => None,
    };
    match (smallest, inode.region) {
        (None, None) => true,
        (Some(smallest), Some(region)) => {
            let numbered = region.class.is_allocated() || region == Region::of_file(region.class, Part::Content, file);
            region.class >= smallest && numbered
        }
        _ => false,
    }
}
