//! A file in memory that knows what would be left after a crash.

use redb::StorageBackend;
use std::sync::{Arc, Mutex};

/// Content, what a sync has made durable of it, and the writes since then.
#[derive(Debug, Default)]
struct Content {
    present: Vec<u8>,
    durable: Vec<u8>,
    since: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// File in memory. A clone is the same file.
#[derive(Clone, Debug, Default)]
pub(super) struct Medium(Arc<Mutex<Content>>);

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Length(length) => bytes.resize(*length, 0),
        Change::Write(offset, data) => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
    }
}

impl Medium {
    /// File with this content.
    pub fn of(content: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Content { present: content.clone(), durable: content, since: Vec::new() })))
    }

    /// Content.
    pub fn content(&self) -> Vec<u8> {
        self.0.lock().unwrap().present.clone()
    }

    /// A file after a crash: what a sync has made durable, and those later changes that `survives` says, in
    /// their order.
    pub fn after_crash(&self, mut survives: impl FnMut() -> bool) -> Self {
        let content = self.0.lock().unwrap();
        let mut bytes = content.durable.clone();
        content.since.iter().filter(|_| survives()).for_each(|change| apply(&mut bytes, change));
        Self::of(bytes)
    }

    fn change(&self, change: Change) {
        let mut content = self.0.lock().unwrap();
        apply(&mut content.present, &change);
        content.since.push(change);
    }
}

impl StorageBackend for Medium {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self.0.lock().unwrap().present.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let content = self.0.lock().unwrap();
        let start = usize::try_from(offset).unwrap();
        let range = content.present.get(start..start + out.len());
        let range = range.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
        out.copy_from_slice(range);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.change(Change::Length(usize::try_from(len).unwrap()));
        Ok(())
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        let mut content = self.0.lock().unwrap();
        content.durable = content.present.clone();
        content.since.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.change(Change::Write(usize::try_from(offset).unwrap(), data.to_vec()));
        Ok(())
    }
}
