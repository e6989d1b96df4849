//! Files of a mounted file system, by the calls that it offers: a clone is FICLONE or copy_file_range, a
//! reservation is fallocate.

use super::files::{Another, Files, Method, Reserve, Room, Usage};
use super::{NasError, doing, extents, file_system};
use rustix::fs::{Advice, FallocateFlags, copy_file_range, fadvise, fallocate, ioctl_ficlone};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Size of the tmpfs of [`Files::small`] in bytes.
const SMALL_BYTES: u64 = 64 << 20;

/// Files in a directory. Open files are shared with other threads.
pub(super) struct Mounted {
    directory: PathBuf,
    open: Arc<Mutex<HashMap<String, Arc<File>>>>,
    /// What removes the directory; `None` for the files of another thread.
    scratch: Option<Scratch>,
}

/// Directory that is removed.
enum Scratch {
    Directory(TempDir),
    Memory(Memory),
}

impl Mounted {
    /// Files in a new directory below this one.
    pub(super) fn create(below: &Path) -> Result<Self, NasError> {
        let scratch = tempfile::Builder::new()
            .prefix("windlass-lab-")
            .tempdir_in(below)
            .map_err(doing("create a directory in", below))?;
        Ok(Self {
            directory: scratch.path().to_owned(),
            open: Arc::default(),
            scratch: Some(Scratch::Directory(scratch)),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The file of this name, which was created here.
    fn file(&self, name: &str) -> Result<Arc<File>, NasError> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(name).cloned().ok_or_else(|| doing("find", Path::new(name))(io::Error::from(io::ErrorKind::NotFound)))
    }

    fn at(&self, what: &'static str, name: &str) -> impl FnOnce(io::Error) -> NasError {
        doing(what, Path::new(name))
    }

    fn lacks(&self, call: &'static str, what: &'static str, name: &str) -> impl FnOnce(Errno) -> NasError {
        let other = doing(what, Path::new(name));
        move |errno| match errno {
            Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::XDEV | Errno::NOSYS => {
                NasError::Unsupported { call, error: io::Error::from(errno).to_string() }
            }
            errno => other(io::Error::from(errno)),
        }
    }
}

impl Files for Mounted {
    fn create(&self, name: &str) -> Result<(), NasError> {
        let file = File::options().read(true).write(true).create_new(true).open(self.path(name));
        let file = file.map_err(self.at("make", name))?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), Arc::new(file));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), NasError> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        std::fs::remove_file(self.path(name)).map_err(self.at("remove", name))
    }

    fn size(&self, name: &str) -> Result<u64, NasError> {
        Ok(self.file(name)?.metadata().map_err(self.at("look at", name))?.len())
    }

    fn set_size(&self, name: &str, bytes: u64) -> Result<(), NasError> {
        self.file(name)?.set_len(bytes).map_err(self.at("set the length of", name))
    }

    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> Result<(), NasError> {
        self.file(name)?.read_exact_at(buffer, offset).map_err(self.at("read", name))
    }

    fn write(&self, name: &str, offset: u64, data: &[u8]) -> Result<(), NasError> {
        self.file(name)?.write_all_at(data, offset).map_err(self.at("write", name))
    }

    fn sync(&self, name: &str) -> Result<(), NasError> {
        self.file(name)?.sync_all().map_err(self.at("sync", name))
    }

    fn forget(&self, name: &str) {
        // Only a hint: on a file system that keeps its pages, both sides read from memory.
        let _hint = self.file(name).map(|file| fadvise(&*file, 0, None, Advice::DontNeed));
    }

    fn share(&self, from: &str, to: &str) -> Result<(), NasError> {
        let (from, file) = (self.file(from)?, self.file(to)?);
        ioctl_ficlone(&*file, &*from).map_err(self.lacks(self.call_of(Method::Clone), "clone to", to))
    }

    fn copy_range(&self, from: &str, to: &str, offset: u64, length: u64) -> Result<u64, NasError> {
        let (source, file) = (self.file(from)?, self.file(to)?);
        let (mut from_offset, mut to_offset) = (offset, offset);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let copied = copy_file_range(&*source, Some(&mut from_offset), &*file, Some(&mut to_offset), length);
        let copied = copied.map_err(self.lacks(self.call_of(Method::CopyRange), "copy to", to))?;
        Ok(copied as u64)
    }

    fn reserve(&self, how: Reserve, name: &str, bytes: u64) -> Result<(), NasError> {
        let flags = match how {
            Reserve::Eager => FallocateFlags::ZERO_RANGE,
            Reserve::Lazy | Reserve::WriteZeros => FallocateFlags::empty(),
        };
        fallocate(&*self.file(name)?, flags, 0, bytes).map_err(self.lacks(self.call_of_reserve(how), "reserve", name))
    }

    fn usage(&self, name: &str) -> Result<Usage, NasError> {
        extents::usage(&*self.file(name)?, &self.path(name))
    }

    fn room(&self) -> Option<Room> {
        file_system::room(&self.directory)
    }

    fn server_bytes(&self) -> Option<u64> {
        file_system::server_bytes(&self.directory)
    }

    fn sentence(&self) -> String {
        file_system::sentence(&self.directory)
    }

    fn call_of(&self, method: Method) -> &'static str {
        match method {
            Method::ReadWrite => "read and write",
            Method::Clone => "FICLONE",
            Method::CopyRange => "copy_file_range",
        }
    }

    fn call_of_reserve(&self, how: Reserve) -> &'static str {
        match how {
            Reserve::WriteZeros => "writing zeros",
            Reserve::Lazy => "fallocate",
            Reserve::Eager => "fallocate with FALLOC_FL_ZERO_RANGE",
        }
    }

    fn small(&self) -> Result<Box<dyn Files>, NasError> {
        let memory = Memory::mount(&self.path("memory"))?;
        let directory = memory.0.clone();
        Ok(Box::new(Self { directory, open: Arc::default(), scratch: Some(Scratch::Memory(memory)) }))
    }

    fn another(&self) -> Another {
        let (directory, open) = (self.directory.clone(), Arc::clone(&self.open));
        Box::new(move || Ok(Box::new(Self { directory, open, scratch: None })))
    }

    fn close(self: Box<Self>) -> Result<(), NasError> {
        if self.scratch.is_some() {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        match self.scratch {
            // Closed explicitly, because the guard's drop would hide an error.
            Some(Scratch::Directory(scratch)) => scratch.close().map_err(doing("remove", &self.directory)),
            Some(Scratch::Memory(memory)) => {
                drop(memory);
                std::fs::remove_dir(&self.directory).map_err(doing("remove", &self.directory))
            }
            None => Ok(()),
        }
    }
}

/// A tmpfs of this case; unmounted when dropped.
struct Memory(PathBuf);

impl Memory {
    fn mount(path: &Path) -> Result<Self, NasError> {
        std::fs::create_dir(path).map_err(doing("make", path))?;
        let options = CString::new(format!("size={SMALL_BYTES},mode=0700")).unwrap_or_default();
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        match mount("windlass-lab", path, "tmpfs", flags, options.as_c_str()) {
            Ok(()) => Ok(Self(path.to_owned())),
            Err(errno) => {
                std::fs::remove_dir(path).map_err(doing("remove", path))?;
                let error = io::Error::from(errno).to_string();
                Err(NasError::Unsupported { call: "mount of a tmpfs", error })
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Detached if it is still in use; the removal of the directory reports anything left.
        if unmount(&self.0, UnmountFlags::empty()).is_err() {
            let _left_to_the_removal = unmount(&self.0, UnmountFlags::DETACH);
        }
    }
}
