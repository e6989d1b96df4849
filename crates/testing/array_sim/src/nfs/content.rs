//! Calls about the content of files, and what they mean for the model.

use super::{BLOCK_BYTES, Failed, Host, Opened};
use crate::commands::content;
use crate::model::{Tick, Value, Volume, WriteId};
use crate::world::{FILES, WINDOW};
use bytes::Bytes;
use nfs::v4::io::Segment;
use nfs::v4::offload::DataBlocks;
use nfs::v4::{Stable, Verifier};
use nfs_client::ClientError;
use std::ops::Range;

/// Blocks of 512 bytes of a block of the file system, to which clones are aligned.
const ALIGNED: usize = 8;
/// Most blocks of a call.
const LONGEST: usize = 64;
/// Position of a block that has no number (RFC 7862 §8.1).
const NO_NUMBER: u64 = u64::MAX;

/// A write that a crash may lose until it is committed.
pub(super) struct Unstable {
    change: Change,
    verifier: Verifier,
}

/// A change of blocks of a file.
#[derive(Clone)]
struct Change {
    id: WriteId,
    file: usize,
    blocks: Range<usize>,
}

impl Change {
    /// Each block with its place in the model.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let first = place(self.file, 0);
        self.blocks.clone().map(move |block| first + block)
    }
}

/// Place of a block of a file in the model.
const fn place(file: usize, block: usize) -> usize {
    file * WINDOW as usize + block
}

fn offset_of(blocks: &Range<usize>) -> u64 {
    blocks.start as u64 * BLOCK_BYTES
}

fn length_of(blocks: &Range<usize>) -> u64 {
    blocks.len() as u64 * BLOCK_BYTES
}

impl Host {
    /// A call about content.
    pub(super) async fn use_content(&self, opened: &Opened) -> Result<(), String> {
        let file = self.one_of(FILES);
        let blocks = self.blocks(1);
        match self.random.below(100) {
            0..30 => self.read(opened, file, blocks).await,
            30..60 => self.write(opened, file, blocks).await,
            60..68 => self.commit(opened, file).await,
            68..76 => self.zero(opened, file, blocks).await,
            76..82 => self.write_same(opened, file, blocks).await,
            82..92 => self.clone_blocks(opened).await,
            _ => self.copy(opened).await,
        }
    }

    fn one_of(&self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or(0)
    }

    /// A range of blocks whose ends are multiples of a number.
    fn blocks(&self, aligned: usize) -> Range<usize> {
        let all = WINDOW as usize / aligned;
        let length = self.one_of((LONGEST / aligned).min(all)) + 1;
        let start = self.one_of(all - length + 1);
        start * aligned..(start + length) * aligned
    }

    fn change_model(&self, change: &Change, mut change_block: impl FnMut(&mut Volume, usize)) {
        let mut files = self.shared.files.borrow_mut();
        change.places().for_each(|place| change_block(&mut files, place));
    }

    fn begin(&self, file: usize, blocks: &Range<usize>, value: impl Fn(u64, usize) -> Value) -> Change {
        let id = ((self.index as u64 + 1) << 32) + self.next_id.replace(self.next_id.get() + 1);
        let (change, start) = (Change { id, file, blocks: blocks.clone() }, self.shared.tick());
        let first = place(file, blocks.start);
        self.change_model(&change, |files, place| files.begin(id, start, place, value(id, place - first), true));
        change
    }

    fn acknowledge(&self, change: &Change) {
        let now = self.shared.tick();
        self.change_model(change, |files, place| files.acknowledge(change.id, now, place));
    }

    /// Takes the outcome of a durable change. Without one, it may have taken effect until the array was killed.
    async fn changed<T>(
        &self,
        opened: &Opened,
        what: &str,
        change: &Change,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<Option<T>, String> {
        let what = format!("{what} of file {} blocks {}..{}", change.file, change.blocks.start, change.blocks.end);
        match self.answer(opened, &what, call).await? {
            Ok(answer) => Ok(Some(answer)),
            Err(Failed::Lost | Failed::Troubled) => Ok(None),
        }
    }

    async fn write(&self, opened: &Opened, file: usize, blocks: Range<usize>) -> Result<(), String> {
        let stable = [Stable::Unstable, Stable::DataSync, Stable::FileSync][self.one_of(3)];
        let change = self.begin(file, &blocks, |id, _| Value::Stamp(id));
        let data = Bytes::from(content(change.id, blocks.len()));
        let call = opened.share.write(&opened.files[file], offset_of(&blocks), data, stable);
        let Some(written) = self.changed(opened, &format!("WRITE {stable:?}"), &change, call).await? else {
            return Ok(());
        };
        if u64::from(written.count_bytes) != length_of(&blocks) {
            return Err(format!("WRITE of {} bytes wrote {}", length_of(&blocks), written.count_bytes));
        }
        match (stable, written.committed) {
            (_, Stable::FileSync) | (Stable::DataSync, Stable::DataSync) => self.acknowledge(&change),
            (Stable::Unstable, _) => {
                let now = self.shared.tick();
                self.change_model(&change, |files, place| files.execute(change.id, now, place));
                self.unstable.borrow_mut().push(Unstable { change, verifier: written.verifier });
            }
            (stable, less) => return Err(format!("WRITE {stable:?} was {less:?}")),
        }
        Ok(())
    }

    /// Makes the earlier writes to the file durable, unless the array has lost them meanwhile.
    async fn commit(&self, opened: &Opened, file: usize) -> Result<(), String> {
        let all = self.unstable.take();
        let (written, others) = all.into_iter().partition::<Vec<_>, _>(|write| write.change.file == file);
        self.unstable.replace(others);
        let call = opened.share.commit(&opened.files[file].handle);
        let Ok(verifier) = self.answer(opened, &format!("COMMIT of file {file}"), call).await? else { return Ok(()) };
        for write in written {
            if write.verifier != verifier {
                return Err(format!("COMMIT of file {file} has another verifier in the same run"));
            }
            self.acknowledge(&write.change);
        }
        Ok(())
    }

    async fn zero(&self, opened: &Opened, file: usize, blocks: Range<usize>) -> Result<(), String> {
        let change = self.begin(file, &blocks, |_, _| Value::Stamp(0));
        let call = opened.share.deallocate(&opened.files[file], offset_of(&blocks), length_of(&blocks));
        if self.changed(opened, "DEALLOCATE", &change, call).await?.is_some() {
            self.acknowledge(&change);
        }
        Ok(())
    }

    async fn write_same(&self, opened: &Opened, file: usize, blocks: Range<usize>) -> Result<(), String> {
        let change = self.begin(file, &blocks, |id, _| Value::Stamp(id));
        let pattern = DataBlocks {
            offset_bytes: offset_of(&blocks),
            block_bytes: BLOCK_BYTES,
            block_count: blocks.len() as u64,
            number_offset_bytes: NO_NUMBER,
            first_number: 0,
            pattern_offset_bytes: 0,
            pattern: content(change.id, 1).into(),
        };
        let call = opened.share.write_same(&opened.files[file], pattern);
        let Some(written) = self.changed(opened, "WRITE_SAME", &change, call).await? else { return Ok(()) };
        if written.count_bytes != length_of(&blocks) {
            return Err(format!("WRITE_SAME of {} bytes wrote {}", length_of(&blocks), written.count_bytes));
        }
        self.acknowledge(&change);
        Ok(())
    }

    /// Ranges of one length, of the source and of the destination. The model wants that the source comes first: copies
    /// in both directions would have each other as source.
    fn two_ranges(&self, aligned: usize) -> ((usize, Range<usize>), (usize, Range<usize>)) {
        let one = (self.one_of(FILES), self.blocks(aligned));
        let length = one.1.len();
        let first = self.one_of((WINDOW as usize - length) / aligned + 1) * aligned;
        let other = (self.one_of(FILES), first..first + length);
        if place(one.0, one.1.start) < place(other.0, other.1.start) { (one, other) } else { (other, one) }
    }

    async fn clone_blocks(&self, opened: &Opened) -> Result<(), String> {
        let ((from, source), (file, blocks)) = self.two_ranges(ALIGNED);
        if from == file && blocks.start < source.end {
            return Ok(());
        }
        let change = self.begin(file, &blocks, |_, at| Value::CopyOf(place(from, source.start + at)));
        let (from_file, to_file) = (&opened.files[from], &opened.files[file]);
        let (from_at, to_at) = ((from_file, offset_of(&source)), (to_file, offset_of(&blocks)));
        let call = opened.share.clone_range(from_at, to_at, length_of(&blocks));
        let what = format!("CLONE of file {from} from block {}", source.start);
        if self.changed(opened, &what, &change, call).await?.is_some() {
            self.acknowledge(&change);
        }
        Ok(())
    }

    async fn copy(&self, opened: &Opened) -> Result<(), String> {
        let ((from, source), (file, blocks)) = self.two_ranges(1);
        // A file is no source of itself.
        if from == file {
            return Ok(());
        }
        let change = self.begin(file, &blocks, |_, at| Value::CopyOf(place(from, source.start + at)));
        let (from_file, to_file) = (&opened.files[from], &opened.files[file]);
        let (from_at, to_at) = ((from_file, offset_of(&source)), (to_file, offset_of(&blocks)));
        let call = opened.share.copy_range(from_at, to_at, length_of(&blocks), true);
        let what = format!("COPY of file {from} from block {}", source.start);
        match self.changed(opened, &what, &change, call).await? {
            None => Ok(()),
            Some(Ok(copied)) if copied.response.count_bytes == length_of(&blocks) => {
                self.acknowledge(&change);
                Ok(())
            }
            Some(other) if self.shared.troubled.get() => {
                self.log(format_args!("{what}: {other:?}"));
                Ok(())
            }
            Some(other) => Err(format!("{what}: {other:?}")),
        }
    }

    /// Reads blocks, and compares them with the model.
    pub(super) async fn read(&self, opened: &Opened, file: usize, blocks: Range<usize>) -> Result<(), String> {
        let what = format!("READ of file {file} blocks {}..{}", blocks.start, blocks.end);
        let (start, length) = (self.shared.tick(), u32::try_from(length_of(&blocks)).unwrap_or(0));
        let (share, open) = (&opened.share, &opened.files[file]);
        let found = if self.random.chance(50) {
            let call = async { share.read(open, offset_of(&blocks), length).await.map(|(data, _)| data) };
            self.answer(opened, &what, call).await?
        } else {
            let call = async {
                let read = share.read_plus(open, offset_of(&blocks), length).await?;
                Ok(bytes_of(&read.segments, offset_of(&blocks)))
            };
            self.answer(opened, &what, call).await?
        };
        match found {
            Ok(found) if found.len() as u64 == length_of(&blocks) => self.compare(&what, file, &blocks, &found, start),
            Ok(found) => Err(format!("{what}: {} bytes", found.len())),
            Err(_) => Ok(()),
        }
    }

    fn compare(&self, what: &str, file: usize, blocks: &Range<usize>, data: &[u8], start: Tick) -> Result<(), String> {
        let now = self.shared.tick();
        let mut files = self.shared.files.borrow_mut();
        for (block, content) in blocks.clone().zip(data.chunks_exact(crate::commands::BLOCK_BYTES)) {
            let stamp = random::sector::number_of(content).ok_or_else(|| format!("{what}: block {block} is torn"))?;
            let place = place(file, block);
            let possible = files.possible(place, start, now);
            if !possible.contains(&stamp) {
                return Err(format!("{what}: block {block} is {stamp:x}, and only {possible:x?} are possible"));
            }
            files.observe(place, stamp, now);
        }
        Ok(())
    }
}

/// Bytes of data and holes that follow one another.
fn bytes_of(segments: &[Segment], offset_bytes: u64) -> Bytes {
    let mut bytes = Vec::new();
    for segment in segments {
        let at = offset_bytes + bytes.len() as u64;
        match segment {
            Segment::Data(part) if part.offset_bytes == at => bytes.extend_from_slice(&part.data),
            Segment::Hole(part) if part.offset_bytes == at => {
                bytes.resize(bytes.len() + usize::try_from(part.length_bytes).unwrap_or(0), 0);
            }
            _ => break,
        }
    }
    bytes.into()
}
