//! The NAS half: files of a share over NFSv4.2, by the host kit's client. Nothing is mounted, and no right of root is
//! needed.

use crate::table::{Report, Row};
use crate::work::{self, Stage};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nfs::v4::attributes::Attribute;
use nfs::v4::io::Content;
use nfs::v4::{Stable, Status};
use nfs_client::{CALL_BYTES, ClientError, File, Identity, Options, Session, Share};
use std::path::Path;
use tokio::runtime::Runtime;

/// Name of the share.
pub(crate) const SHARE: &str = "demo";
/// Name of the file with the file system.
const TEMPLATE: &str = "template.img";
/// Name of its copy made by reading and writing.
const HOST_COPY: &str = "vm-by-host.img";
/// Name of its copy made by CLONE.
const ARRAY_COPY: &str = "vm-by-array.img";
/// Number of the attribute `space_freed` (RFC 7862 §12.2.3).
const SPACE_FREED: u32 = 78;
/// Bytes that change a clone.
const CHANGE_BYTES: u64 = 8 << 20;
/// Places at which each of many clones is compared with the template, and bytes at each.
const SAMPLES: u64 = 16;
const SAMPLE_BYTES: u64 = 64 << 10;

type Say<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// Resources of the operations on files.
struct Files<'a> {
    stage: &'a Stage<'a>,
    runtime: Runtime,
    share: Share,
}

/// Runs all operations on files. `image`: the file system of the template. `server`: address of the NFS server.
pub(crate) fn run(stage: &Stage<'_>, image: &Path, server: &str, report: &mut Report, say: Say<'_>) -> Result<()> {
    say(&format!("the same with files: share {SHARE} over NFSv4.2 at {server}, without a mount"))?;
    stage.array.command(&["share", "create", SHARE])?;
    stage.array.command(&["access", "grant", SHARE, "--any", "--squash", "none"])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let identity = Identity::root("windlass-demo", [0; 8]);
    let share = runtime.block_on(async {
        let session = Session::connect(server, &identity, Options::default()).await?;
        Share::find(&session, SHARE).await
    })?;
    let files = Files { stage, runtime, share };
    let template = files.fill_template(image, report, say)?;
    let (host_copy, array_copy) = files.copy(&template, report, say)?;
    files.clone_many(&template, report, say)?;
    files.reserve(report, say)?;
    files.change_and_delete(&template, array_copy, report, say)?;
    files.punch(&host_copy, report, say)
}

impl Files<'_> {
    fn wait<T>(&self, work: impl Future<Output = Result<T, ClientError>>) -> Result<T> {
        self.stage.check_interrupted()?;
        Ok(self.runtime.block_on(work)?)
    }

    fn create(&self, name: &str) -> Result<File> {
        self.wait(self.share.create_file(self.share.root(), name))
    }

    /// Size of the disks.
    fn size_bytes(&self) -> u64 {
        self.stage.sizes.template_bytes
    }

    /// Writes the image to a file of the share. Holes of the image stay holes.
    fn fill_template(&self, image: &Path, report: &mut Report, say: Say<'_>) -> Result<File> {
        say(&format!("writing the template to {SHARE}/{TEMPLATE}"))?;
        let source = std::fs::File::open(image).context("cannot read the image")?;
        let template = self.create(TEMPLATE)?;
        let host = self.stage.measure(|| self.write_image(&source, &template))?;
        let held = self.equals_image(&source, &template)?;
        report.check(held, "the template file is identical to the image of mkfs.ext4, byte for byte");
        report.rows.push(Row {
            operation: "NFS: write the template".into(),
            host: Some(host),
            array: None,
            result: work::verdict(held),
        });
        Ok(template)
    }

    fn write_image(&self, image: &std::fs::File, file: &File) -> Result<()> {
        for at in (0..self.size_bytes()).step_by(CALL_BYTES as usize) {
            let block = image_block(image, at, self.size_bytes())?;
            let last = at + block.len() as u64 == self.size_bytes();
            if last || block.iter().any(|byte| *byte != 0) {
                self.wait(self.share.write_range(file, at, block, Stable::Unstable))?;
            }
        }
        self.wait(self.share.commit(&file.handle)).map(drop)
    }

    fn equals_image(&self, image: &std::fs::File, file: &File) -> Result<bool> {
        for at in (0..self.size_bytes()).step_by(CALL_BYTES as usize) {
            let expected = image_block(image, at, self.size_bytes())?;
            if self.wait(self.share.read_range(file, at, expected.len() as u64))? != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies the template twice: by reading and writing its data, and by CLONE.
    fn copy(&self, template: &File, report: &mut Report, say: Say<'_>) -> Result<(File, File)> {
        say("copying the template: the client reads and writes its data")?;
        let host_copy = self.create(HOST_COPY)?;
        let host = self.stage.measure(|| self.read_and_write(template, &host_copy))?;
        say("copying the template: the client asks the array (CLONE)")?;
        let array_copy = self.create(ARRAY_COPY)?;
        let limit = work::share(self.stage.sizes.content_bytes);
        let array = self.stage.measure_quiet(limit, || self.clone(template, &array_copy))?;
        let same = self.same(template, &host_copy)? & self.same(template, &array_copy)?;
        report.check(same, "both copies of the file are identical to the template, byte for byte");
        report.check(
            array.wire_bytes < limit,
            format!(
                "CLONE sent {} over the wire; the host's copy {}",
                text::size::format(array.wire_bytes),
                text::size::format(host.wire_bytes)
            ),
        );
        report.check(
            work::grown(array) < limit,
            format!("the clone took {} of the pool; the host's copy {}", work::growth(array), work::growth(host)),
        );
        report.rows.push(Row {
            operation: "NFS: copy the template".into(),
            host: Some(host),
            array: Some(array),
            result: work::verdict(same),
        });
        Ok((host_copy, array_copy))
    }

    fn clone(&self, from: &File, to: &File) -> Result<()> {
        self.wait(self.share.clone_range((from, 0), (to, 0), 0))
    }

    /// Copies the data, and leaves the holes out.
    fn read_and_write(&self, from: &File, to: &File) -> Result<()> {
        let mut at = 0;
        while let Some(data) = self.next_data(from, at)? {
            let end = self.wait(self.share.seek(from, data, Content::HOLE))?.offset_bytes;
            at = data;
            while at < end {
                let length = (end - at).min(CALL_BYTES.into());
                let block = self.wait(self.share.read_range(from, at, length))?;
                self.wait(self.share.write_range(to, at, block, Stable::Unstable))?;
                at += length;
            }
        }
        let last = self.size_bytes() - 1;
        let block = self.wait(self.share.read_range(from, last, 1))?;
        self.wait(self.share.write_range(to, last, block, Stable::Unstable))?;
        self.wait(self.share.commit(&to.handle)).map(drop)
    }

    /// First data from an offset on; `None` when there is none.
    fn next_data(&self, file: &File, at: u64) -> Result<Option<u64>> {
        self.stage.check_interrupted()?;
        match self.runtime.block_on(self.share.seek(file, at, Content::DATA)) {
            Ok(found) => Ok((!found.eof).then_some(found.offset_bytes)),
            Err(ClientError::Status { status: Status::NXIO, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares two files from their beginning to their end.
    fn same(&self, one: &File, other: &File) -> Result<bool> {
        for at in (0..self.size_bytes()).step_by(CALL_BYTES as usize) {
            let length = (self.size_bytes() - at).min(CALL_BYTES.into());
            if !self.same_range(one, other, at, length)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn same_range(&self, one: &File, other: &File, at: u64, length: u64) -> Result<bool> {
        let (one, other) = self.wait(async {
            Ok((self.share.read_range(one, at, length).await?, self.share.read_range(other, at, length).await?))
        })?;
        Ok(one.len() as u64 == length && one == other)
    }

    /// Clones the template to many files.
    fn clone_many(&self, template: &File, report: &mut Report, say: Say<'_>) -> Result<()> {
        let count = self.stage.sizes.clones;
        say(&format!("cloning the template to {count} files"))?;
        let before = self.counters("clone")?;
        let mut clones = Vec::new();
        let array = self.stage.measure(|| {
            for number in 0..count {
                let clone = self.create(&format!("clone-{number}.img"))?;
                self.clone(template, &clone)?;
                clones.push(clone);
            }
            Ok(())
        })?;
        let after = self.counters("clone")?;
        let mut held = true;
        let step = self.size_bytes() / SAMPLES;
        for clone in &clones {
            for sample in 0..SAMPLES {
                held &= self.same_range(template, clone, sample * step, SAMPLE_BYTES)?;
            }
        }
        if let Some(last) = clones.last() {
            held &= self.same(template, last)?;
        }
        report.check(
            held,
            format!("{count} clones: each equals the template at {SAMPLES} places, the last one everywhere"),
        );
        let cloned = after.0.saturating_sub(before.0);
        let moved = after.1.saturating_sub(before.1);
        report.check(
            moved == 0 && cloned == count * self.size_bytes(),
            format!("the array shared {} and moved {moved} bytes of data (offload stats)", text::size::format(cloned)),
        );
        report.rows.push(Row {
            operation: format!("NFS: clone to {count} files"),
            host: None,
            array: Some(array),
            result: work::verdict(held),
        });
        Ok(())
    }

    /// Bytes of a primitive that share storage with their source, and bytes that were moved.
    fn counters(&self, primitive: &str) -> Result<(u64, u64)> {
        let rows = self.stage.array.json(&["offload", "stats", SHARE])?;
        let row = rows.as_array().into_iter().flatten().find(|row| row["primitive"] == primitive);
        let number = |name: &str| row.and_then(|row| row[name].as_u64()).unwrap_or(0);
        Ok((number("cloned_bytes"), number("copied_bytes")))
    }

    /// Reserves space: a host without ALLOCATE writes zeros.
    fn reserve(&self, report: &mut Report, say: Say<'_>) -> Result<()> {
        let bytes = self.stage.sizes.zero_bytes;
        say(&format!(
            "reserving {}: the client writes zeros, and then asks the array (ALLOCATE)",
            text::size::format(bytes)
        ))?;
        let (by_host, by_array) = (self.create("zeroed.img")?, self.create("reserved.img")?);
        let zeros = Bytes::from(vec![0; CALL_BYTES as usize]);
        let host = self.stage.measure(|| {
            for at in (0..bytes).step_by(CALL_BYTES as usize) {
                let block = zeros.slice(..usize::try_from(bytes - at).unwrap_or(usize::MAX).min(zeros.len()));
                self.wait(self.share.write_range(&by_host, at, block, Stable::Unstable))?;
            }
            self.wait(self.share.commit(&by_host.handle)).map(drop)
        })?;
        let before = self.promised_bytes()?;
        let array = self.stage.measure(|| self.wait(self.share.allocate(&by_array, 0, bytes)))?;
        let promised = self.promised_bytes()?.saturating_sub(before);
        let held = report.check(
            promised >= bytes,
            format!("ALLOCATE of {} promises {} of the pool", text::size::format(bytes), text::size::format(promised)),
        );
        report.rows.push(Row {
            operation: format!("NFS: reserve {}", text::size::format(bytes)),
            host: Some(host),
            array: Some(array),
            result: if held { "reserved".into() } else { "NOT RESERVED".into() },
        });
        Ok(())
    }

    fn promised_bytes(&self) -> Result<u64> {
        let stat = self.stage.array.json(&["share", "stat", SHARE])?;
        stat["space"]["promised_bytes"].as_u64().context("no promised_bytes in `share stat`")
    }

    /// What the array would free if the file were deleted.
    fn space_freed(&self, file: &File) -> Result<u64> {
        let attributes = self.wait(self.share.attributes(&file.handle, &[SPACE_FREED]))?;
        match attributes.as_slice() {
            [Attribute::SpaceFreed(bytes)] => Ok(*bytes),
            other => anyhow::bail!("GETATTR of space_freed returned {other:?}"),
        }
    }

    /// Changes a clone and deletes it: the array tells before how much that frees.
    fn change_and_delete(&self, template: &File, clone: File, report: &mut Report, say: Say<'_>) -> Result<()> {
        say(&format!("changing {} of the clone, and deleting it", text::size::format(CHANGE_BYTES)))?;
        let shared = self.space_freed(&clone)?;
        let change = Bytes::from(vec![0x5a; CALL_BYTES as usize]);
        for at in (0..CHANGE_BYTES).step_by(CALL_BYTES as usize) {
            self.wait(self.share.write_range(&clone, at, change.clone(), Stable::FileSync))?;
        }
        let told = self.space_freed(&clone)?;
        report.check(
            shared == 0 && told == CHANGE_BYTES,
            format!(
                "space_freed of the clone: {} when new, {} after {} were changed",
                text::size::format(shared),
                text::size::format(told),
                text::size::format(CHANGE_BYTES)
            ),
        );
        self.wait(self.share.close(clone))?;
        let array = self.stage.measure_release(told, || self.wait(self.share.remove(self.share.root(), ARRAY_COPY)))?;
        let back = work::freed(array) >= told;
        report.check(back, format!("deleting it freed {} of the pool", text::size::format(work::freed(array))));
        let whole = self.next_data(template, 0)?.is_some();
        ensure!(whole, "the template is empty after its clone was deleted");
        report.rows.push(Row {
            operation: "NFS: delete a clone".into(),
            host: None,
            array: Some(array),
            result: if back { "freed as told".into() } else { "SPACE WRONG".into() },
        });
        Ok(())
    }

    /// Punches all of the host's copy.
    fn punch(&self, file: &File, report: &mut Report, say: Say<'_>) -> Result<()> {
        say("freeing the host's copy: the client punches it (DEALLOCATE)")?;
        let wanted = self.stage.sizes.content_bytes / 2;
        let array =
            self.stage.measure_release(wanted, || self.wait(self.share.deallocate(file, 0, self.size_bytes())))?;
        let back = work::freed(array) >= wanted;
        let zeros = self.next_data(file, 0)?.is_none();
        report.check(
            back && zeros,
            format!("the punched file is a hole, and {} are free again", text::size::format(work::freed(array))),
        );
        report.rows.push(Row {
            operation: "NFS: punch a disk".into(),
            host: None,
            array: Some(array),
            result: if back && zeros { "space is freed".into() } else { "SPACE OR DATA WRONG".into() },
        });
        Ok(())
    }
}

/// Content of the image from an offset on: a whole call, or up to its end.
fn image_block(image: &std::fs::File, at: u64, size_bytes: u64) -> Result<Bytes> {
    use std::os::unix::fs::FileExt;
    let length = (size_bytes - at).min(CALL_BYTES.into());
    let mut block = vec![0; usize::try_from(length)?];
    image.read_exact_at(&mut block, at).context("cannot read the image")?;
    Ok(block.into())
}
