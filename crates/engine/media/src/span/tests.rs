#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::{BlockAddress, EngineChoice, Fence, FormatOptions, LocalMedia, LogStore, Media, RootStore, SegmentStore};

const FENCE: Fence = Fence { epoch: 1 };
const MIB: u64 = 1 << 20;

/// Temporary folder, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("span-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn blank(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.0.join(name);
        File::create(&path).unwrap().set_len(bytes).unwrap();
        path
    }
}

fn options() -> OpenOptions {
    OpenOptions { direct: false, ..OpenOptions::default() }
}

fn format(path: &Path) -> LocalMedia<Span> {
    let format =
        FormatOptions { uuid: *b"0123456789abcdef", log_bytes: 64 << 10, root: b"root 1".to_vec(), overwrite: false };
    LocalMedia::format(Span::open(path, &options()).unwrap(), format).unwrap()
}

fn open(path: &Path) -> LocalMedia<Span> {
    LocalMedia::open(Span::open(path, &options()).unwrap()).unwrap()
}

fn finish(media: &mut LocalMedia<Span>) -> Result<Done, MediaError> {
    media.wait();
    media.poll().unwrap().result
}

fn swap(media: &mut LocalMedia<Span>) {
    media.load_root(1);
    let Ok(Done::Root(root, version)) = finish(media) else { panic!() };
    media.swap_root(&FENCE, 2, version, &root);
    finish(media).unwrap();
}

fn put(media: &mut LocalMedia<Span>, address: u64, byte: u8, blocks: usize) {
    let mut buffer = Buffer::zeroed(blocks);
    for (number, block) in (0u64..).zip(buffer.as_blocks_mut()) {
        block.0 = [byte; BLOCK_BYTES];
        block.0[..8].copy_from_slice(&(address + number).to_le_bytes());
    }
    media.write(&FENCE, 3, BlockAddress::new(address), buffer);
    finish(media).unwrap();
}

fn holds(media: &mut LocalMedia<Span>, address: u64, byte: u8, blocks: usize) {
    media.read(4, BlockAddress::new(address), Buffer::zeroed(blocks));
    let Ok(Done::Read(buffer)) = finish(media) else { panic!() };
    for (number, block) in (0u64..).zip(buffer.as_blocks()) {
        assert_eq!((&block.0[..8], block.0[8]), (&(address + number).to_le_bytes()[..], byte));
    }
}

fn refusal(path: &Path) -> String {
    match Span::open(path, &options()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it opened"),
    }
}

/// Pool of two files: 16 MiB and 12 MiB.
fn two(folder: &Folder) -> (PathBuf, PathBuf) {
    let (first, second) = (folder.blank("a", 16 * MIB), folder.blank("b", 12 * MIB));
    let mut media = format(&first);
    media.extend(&Growth::Device(second.clone())).unwrap();
    swap(&mut media);
    (first, second)
}

#[test]
fn a_pool_grows_by_files_and_by_size_and_is_found_by_its_first_path() {
    let folder = Folder::new();
    let (first, second, third) = (folder.blank("a", 16 * MIB), folder.blank("b", 12 * MIB), folder.blank("c", 8 * MIB));
    let mut media = format(&first);
    let border = 16 * MIB / 4096;
    put(&mut media, 3_000, 1, 10);
    assert_eq!(media.block_count(), border);
    let grown = media.extend(&Growth::Device(second.clone())).unwrap();
    assert_eq!(grown, crate::Grown { block_count: border + 11 * 256, data_end: border + 11 * 256 - 1 });
    // The growth is not in force before the swap.
    assert_eq!((media.block_count(), media.data_end().get()), (border, border - 1));
    swap(&mut media);
    assert_eq!((media.block_count(), media.data_end().get()), (grown.block_count, grown.data_end));
    put(&mut media, border - 5, 2, 10);
    put(&mut media, border + 1_000, 3, 7);
    drop(media);

    let mut media = open(&first);
    assert_eq!(media.disk().paths().len(), 2);
    assert!(media.damaged_copies().is_empty());
    let grown = media.extend(&Growth::Size(25 * MIB)).unwrap();
    assert_eq!(grown.block_count, 40 * 256);
    swap(&mut media);
    assert_eq!(fs::metadata(&second).unwrap().len(), (40 - 16 + 1) * MIB);
    media.extend(&Growth::Device(third)).unwrap();
    swap(&mut media);
    let border = media.block_count() - 7 * 256;
    assert_eq!(border, 40 * 256);
    put(&mut media, border - 1, 4, 2);
    media.flush(&FENCE, 9);
    finish(&mut media).unwrap();
    drop(media);

    let mut media = open(&first);
    holds(&mut media, 3_000, 1, 10);
    holds(&mut media, 16 * 256 - 5, 2, 10);
    holds(&mut media, 16 * 256 + 1_000, 3, 7);
    holds(&mut media, border - 1, 4, 2);
    assert_eq!(media.log_bytes(), 64 << 10);
    // All three are locked.
    for name in ["a", "b", "c"] {
        let path = folder.0.join(name);
        let inline = OpenOptions { engine: EngineChoice::Inline, ..options() };
        assert!(matches!(FileDisk::open(path, &inline), Err(OpenError::InUse { .. })), "{name}");
    }
}

#[test]
fn many_requests_across_the_border_all_complete() {
    let folder = Folder::new();
    let (first, _) = two(&folder);
    let mut media = open(&first);
    let border = 16 * 256;
    for ticket in 0..200 {
        let mut buffer = Buffer::zeroed(8);
        buffer.fill(ticket);
        media.write(&FENCE, u64::from(ticket), BlockAddress::new(border - 804 + 8 * u64::from(ticket)), buffer);
    }
    media.flush(&FENCE, 1000);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 201 {
        media.wait();
        while let Some(completion) = media.poll() {
            completion.result.unwrap();
            assert!(seen.insert(completion.ticket));
        }
    }
    media.read(1, BlockAddress::new(border - 804), Buffer::zeroed(1600));
    let Ok(Done::Read(buffer)) = finish(&mut media) else { panic!() };
    for (number, block) in buffer.as_blocks().iter().enumerate() {
        assert!(block.0.iter().all(|byte| usize::from(*byte) == number / 8), "{number}");
    }
    // An error reports the pool's address.
    drop(media);
    let mut span = Span::open(&first, &options()).unwrap();
    File::options().write(true).open(folder.0.join("b")).unwrap().set_len(2 * MIB).unwrap();
    span.read(1, border + 1024, Buffer::zeroed(1));
    span.wait();
    match span.poll().unwrap().result {
        Err(MediaError::Io { address, .. }) => assert_eq!(address, border + 1024),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_member_that_is_missing_foreign_swapped_or_cut_off_is_refused() {
    let folder = Folder::new();
    let (first, second) = two(&folder);
    let third = folder.blank("c", 12 * MIB);
    let mut media = open(&first);
    media.extend(&Growth::Device(third.clone())).unwrap();
    swap(&mut media);
    drop(media);
    let kept = fs::read(&second).unwrap();

    fs::remove_file(&second).unwrap();
    let sentence = refusal(&first);
    assert!(sentence.contains("member 2 of 3, ") && sentence.contains("/b: it is missing: no such file"), "{sentence}");
    folder.blank("b", 12 * MIB);
    assert!(refusal(&first).contains("no label of a pool's member"));
    fs::write(&second, &kept[..4096 * 300]).unwrap();
    assert!(refusal(&first).contains("it was cut off"));
    fs::rename(&third, folder.0.join("x")).unwrap();
    fs::write(&third, &kept).unwrap();
    fs::rename(folder.0.join("x"), &second).unwrap();
    assert!(refusal(&first).contains("it is member 3 of the pool: two were swapped"));
    fs::rename(&second, folder.0.join("x")).unwrap();
    fs::rename(&third, &second).unwrap();
    fs::rename(folder.0.join("x"), &third).unwrap();
    drop(open(&first));

    // One intact copy of the label is enough; two damaged ones are not.
    let file = File::options().write(true).open(&second).unwrap();
    file.write_all_at(b"x", 100).unwrap();
    drop(open(&first));
    file.write_all_at(b"x", 4196).unwrap();
    assert!(refusal(&first).contains("the checksum of its label does not match"));
    fs::write(&second, &kept).unwrap();

    assert!(refusal(&second).contains("this one is member 2 of it; give the path of the first"));
    // Member of another pool.
    let other = Folder::new();
    let mut foreign = format(&other.blank("a", 16 * MIB));
    foreign.extend(&Growth::Device(other.blank("b", 12 * MIB))).unwrap();
    drop(foreign);
    let file = File::options().write(true).open(&second).unwrap();
    let mut label = fs::read(other.0.join("b")).unwrap()[..4096].to_vec();
    label[16] = b'x';
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &label[..4088]);
    label[4088..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&label, 0).unwrap();
    file.write_all_at(&label, 4096).unwrap();
    assert!(refusal(&first).contains("it belongs to another pool"));
    fs::write(&second, &kept).unwrap();

    // The first file alone, without its span, reports what is missing.
    let alone = FileDisk::open(&first, &options()).unwrap();
    match LocalMedia::open(alone) {
        Err(MediaError::BadRoot(reason)) => assert!(reason.contains("3 files or devices, and this is only the first")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_two_superblocks_or_one_table_may_be_lost() {
    let folder = Folder::new();
    let (first, _) = two(&folder);
    let file = File::options().write(true).open(&first).unwrap();
    file.write_all_at(&[0xff; 8192], 0).unwrap();
    file.write_all_at(&[0xff; 4096], TABLE_BLOCKS[0] * 4096).unwrap();
    let mut media = open(&first);
    assert_eq!(media.damaged_copies().len(), 2);
    assert_eq!(media.block_count(), 16 * 256 + 11 * 256);
    swap(&mut media);
    drop(media);
    assert!(open(&first).damaged_copies().is_empty());
    file.write_all_at(&[0xff; 4096], TABLE_BLOCKS[1] * 4096).unwrap();
    assert!(refusal(&first).contains("its table of members is damaged"));
}

#[test]
fn a_pool_that_was_moved_as_a_whole_is_found() {
    let folder = Folder::new();
    two(&folder);
    let moved = folder.0.with_extension("moved");
    fs::rename(&folder.0, &moved).unwrap();
    let moved = Folder(moved);
    assert_eq!(open(&moved.0.join("a")).disk().paths()[1], moved.0.canonicalize().unwrap().join("b"));
}

#[test]
fn a_growth_that_the_superblock_never_learned_of_left_the_old_pool() {
    let folder = Folder::new();
    let (first, second) = (folder.blank("a", 16 * MIB), folder.blank("b", 12 * MIB));
    let mut media = format(&first);
    put(&mut media, 3_000, 1, 1);
    media.extend(&Growth::Device(second.clone())).unwrap();
    drop(media);
    let mut media = open(&first);
    assert_eq!((media.block_count(), media.disk().paths().len()), (16 * 256, 1));
    // Second attempt, with the device that is labelled now.
    media.extend(&Growth::Device(second)).unwrap();
    swap(&mut media);
    drop(media);
    let mut media = open(&first);
    assert_eq!(media.disk().paths().len(), 2);
    holds(&mut media, 3_000, 1, 1);
    drop(media);

    let first = folder.blank("d", 16 * MIB);
    let mut media = format(&first);
    media.extend(&Growth::Size(20 * MIB)).unwrap();
    drop(media);
    let mut media = open(&first);
    assert_eq!(media.block_count(), 16 * 256);
    assert_eq!(media.extend(&Growth::Size(18 * MIB)).unwrap().block_count, 18 * 256);
    swap(&mut media);
    assert_eq!(fs::metadata(&first).unwrap().len(), 20 * MIB);
    assert_eq!(open(&first_after(media, &first)).block_count(), 18 * 256);
}

/// The swap writes a superblock copy there, which must not fail for lack of space.
#[test]
fn a_growth_allocates_the_last_block_before_the_swap() {
    let folder = Folder::new();
    let (first, second) = (folder.blank("a", 16 * MIB), folder.blank("b", 12 * MIB));
    let mut media = format(&first);
    for growth in [Growth::Size(20 * MIB), Growth::Device(second), Growth::Size(14 * MIB)] {
        media.extend(&growth).unwrap();
        let disk = &media.disk().parts.last().unwrap().disk;
        let last = disk.block_count() - 1;
        assert_eq!(disk.written_from(last), Some(last), "{growth:?}");
        swap(&mut media);
    }
}

fn first_after(media: LocalMedia<Span>, path: &Path) -> PathBuf {
    drop(media);
    path.to_owned()
}

#[test]
fn what_cannot_be_added_is_refused_and_changes_nothing() {
    let folder = Folder::new();
    let (first, second) = two(&folder);
    let before = (fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let mut media = open(&first);
    let mut sentence = |growth: Growth| media.extend(&growth).unwrap_err().to_string();
    let device = |path: &Path| Growth::Device(path.to_owned());
    assert!(sentence(Growth::Size(12 * MIB)).contains("of the pool has 12 MiB: 12 MiB is not larger"));
    assert!(sentence(Growth::Size(1 << 60)).contains("a pool has at most 512 TiB, "));
    assert!(sentence(device(&folder.0.join("none"))).contains("no such file or device"));
    assert!(sentence(device(&folder.0)).contains("neither a regular file nor a block device"));
    assert!(sentence(device(&first)).contains("is part of this pool already"));
    assert!(sentence(device(&second)).contains("is part of this pool already"));
    assert!(sentence(device(&folder.blank("small", 8 * MIB - 4096))).contains("at least 8 MiB"));
    let full = folder.blank("full", 8 * MIB);
    for (offset, block) in [(1024, 0), (8 * MIB - 4096, 2047), (5 * MIB + 8192, 1282)] {
        let file = File::options().write(true).open(&full).unwrap();
        file.write_all_at(b"\x53\xef", offset).unwrap();
        assert!(sentence(device(&full)).contains(&format!("it holds data at block {block}, ")));
        file.write_all_at(b"\0\0", offset).unwrap();
    }
    let taken = folder.blank("taken", 8 * MIB);
    let owner = FileDisk::open(&taken, &options()).unwrap();
    assert!(sentence(device(&taken)).contains("is in use by another process"));
    drop(owner);
    if Path::new("/dev/shm").is_dir() && !media.disk().memory() {
        let memory = PathBuf::from(format!("/dev/shm/span-{}", std::process::id()));
        File::create(&memory).unwrap().set_len(8 * MIB).unwrap();
        let sentence = media.extend(&Growth::Device(memory.clone())).unwrap_err().to_string();
        fs::remove_file(&memory).unwrap();
        assert!(sentence.contains("cannot mix"));
    }
    assert_eq!(media.disk().paths().len(), 2);
    drop(media);
    assert!(before == (fs::read(&first).unwrap(), fs::read(&second).unwrap()));
    assert!(fs::read(&full).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn formatting_over_a_pool_of_two_forgets_its_second_file() {
    let folder = Folder::new();
    let (first, _) = two(&folder);
    let disk = FileDisk::open(&first, &options()).unwrap();
    let format = FormatOptions { uuid: [1; 16], log_bytes: 64 << 10, root: Vec::new(), overwrite: true };
    drop(LocalMedia::format(disk, format).unwrap());
    let media = open(&first);
    assert_eq!((media.disk().paths().len(), media.block_count()), (1, 16 * 256));
}

/// Files in a folder, each with a pool.
struct Files(Folder, u64);

impl crate::contract::Fixture for Files {
    type Media = LocalMedia<Span>;

    fn create(&mut self, root: &[u8]) -> Self::Media {
        self.1 += 1;
        let path = self.0.blank(&self.1.to_string(), 16 * MIB);
        let uuid = *b"0123456789abcdef";
        let format = FormatOptions { uuid, log_bytes: 64 << 10, root: root.to_vec(), overwrite: false };
        LocalMedia::format(Span::open(&path, &options()).unwrap(), format).unwrap()
    }

    fn reopen(&mut self, media: Self::Media) -> Self::Media {
        drop(media);
        open(&self.0.0.join(self.1.to_string()))
    }
}

#[test]
fn a_file_keeps_the_contract() {
    crate::contract::holds(Files(Folder::new(), 0));
}
