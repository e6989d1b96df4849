//! Path of a file, for people.

use super::Found;
use super::found;
use crate::engine::Engine;
use crate::file_system::Files;
use crate::layout::address::{ORPHANS, ROOT};
use crate::tree::Tree;
use vfs::{FileId, FsError};

/// Most directories of a path that is shown.
const MOST_DEPTH: usize = 256;

impl<E: Engine> Files<E> {
    /// Path of a file from the root, by the last name that it got. `#` and the number stand for what is not known.
    pub async fn path(&self, file: FileId) -> Result<String, FsError> {
        let (mut at, mut path) = (file, String::new());
        for _ in 0..MOST_DEPTH {
            if at == ROOT {
                return Ok(if path.is_empty() { "/".to_owned() } else { path });
            }
            let step = |share: &mut crate::share::Share<'_>| {
                let inode = share.any_inode(at)?;
                let parent = share.any_inode(inode.parent)?;
                let mut name = None;
                Tree::new(share, inode.parent, parent.region).scan(inode.parent_key, |entry| {
                    if entry.key == inode.parent_key && entry.file == at {
                        name = Some(String::from_utf8_lossy(entry.name).into_owned());
                    }
                    false
                })?;
                Ok((inode.parent, name))
            };
            match self.look(|share| found(step(share))).await? {
                Found::Fine((parent, Some(name))) if at != ORPHANS && parent != ORPHANS => {
                    path.insert_str(0, &format!("/{name}"));
                    at = parent;
                }
                _ => break,
            }
        }
        Ok(format!("#{}{path}", at.0))
    }
}
