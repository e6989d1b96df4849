//! Operations of the demo: each done by the host and by the array, measured, and compared.

use crate::files;
use crate::lock;
use crate::table::{Measured, Report, Row};
use crate::template;
use crate::tools::Tools;
use anyhow::{Context, Result, ensure};
use array_process::array::{Array, Volume};
use array_process::observe;
use array_process::program::{self, Finished};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Name of the volume with the file system.
pub(crate) const TEMPLATE: &str = "template";
/// Name of its copy made by reading and writing.
const HOST_COPY: &str = "vm-by-host";
/// Name of its copy made by EXTENDED COPY.
pub(crate) const ARRAY_COPY: &str = "vm-by-array";
/// Name of its copy made by one administrative command.
const CLONE: &str = "vm-by-clone";

/// Time limit of one client program.
const CLIENT_LIMIT: Duration = Duration::from_secs(300);
/// Time for freed space to show in the pool: it is freed in the background.
const RELEASE_LIMIT: Duration = Duration::from_secs(20);
/// Largest share of the data that offloaded work may send over the wire.
const WIRE_SHARE: f64 = 0.01;

/// Sizes and counts of the operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) template_bytes: u64,
    pub(crate) content_bytes: u64,
    pub(crate) zero_bytes: u64,
    /// Number of files to which the template of the share is cloned.
    pub(crate) clones: u64,
    /// Number of times that each of two hosts takes a lock.
    locks: u64,
    /// Number of rounds of the race between all commands that write.
    race_rounds: u64,
}

impl Sizes {
    /// Sizes of the normal demo.
    pub(crate) const FULL: Self = Self {
        template_bytes: 2 << 30,
        content_bytes: 400 << 20,
        zero_bytes: 1 << 30,
        clones: 100,
        locks: 5_000,
        race_rounds: 5_000,
    };
    /// Sizes for tests.
    pub(crate) const SMALL: Self = Self {
        template_bytes: 256 << 20,
        content_bytes: 32 << 20,
        zero_bytes: 128 << 20,
        clones: 8,
        locks: 200,
        race_rounds: 200,
    };

    /// Disk space that the demo may need: the tree or the image, a template and one full copy of each half in
    /// the pool, the log, and a reserve.
    pub(crate) fn disk_space_bytes(self) -> u64 {
        6 * self.content_bytes + (512 << 20)
    }
}

/// Resources of an operation.
pub(crate) struct Stage<'a> {
    pub(crate) array: &'a Array,
    /// Address of the NFS server.
    pub(crate) nfs: SocketAddr,
    pub(crate) tools: &'a Tools,
    pub(crate) directory: &'a Path,
    pub(crate) sizes: Sizes,
    pub(crate) interrupted: &'a AtomicBool,
}

impl Stage<'_> {
    /// Runs all operations; `say` prints a line of progress.
    pub(crate) fn run(&self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<Report> {
        let mut report = Report::default();
        let (template, image) = self.fill_template(&mut report, say)?;
        let (host_copy, array_copy) = self.copy(&mut report, &template, say)?;
        self.clone_volume(&mut report, &template, say)?;
        self.zero(&mut report, say)?;
        self.unmap(&mut report, &host_copy, &array_copy, say)?;
        self.lock(&mut report, say)?;
        files::run(self, &image, &self.nfs.to_string(), &mut report, say)?;
        std::fs::remove_file(&image)?;
        Ok(report)
    }

    /// Creates a file system and writes it to a new volume. Only the host can do this. Returns the volume and the
    /// image.
    fn fill_template(&self, report: &mut Report, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<(Volume, PathBuf)> {
        say("creating a file system with files of this machine (mkfs.ext4)")?;
        let template =
            template::create(self.tools, self.directory, self.sizes.template_bytes, self.sizes.content_bytes)?;
        let volume = self.array.create_volume(TEMPLATE, &self.sizes.template_bytes.to_string())?;
        say(&format!(
            "writing it to volume {TEMPLATE}: {} files, {}",
            template.files,
            text::size::format(template.bytes)
        ))?;
        let image = template.image.display().to_string();
        let host = self.measure(|| self.convert(&[], &image, volume.url()))?;
        let held = self.identical(&image, volume.url())?;
        report.check(held, "the template on the array is identical to the image of mkfs.ext4");
        report.rows.push(Row {
            operation: format!("fill a template, {}", text::size::format(template.bytes)),
            host: Some(host),
            array: None,
            result: verdict(held),
        });
        Ok((volume, template.image))
    }

    /// Copies the template twice: `qemu-img convert` without and with copy offload.
    fn copy(
        &self,
        report: &mut Report,
        template: &Volume,
        say: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<(Volume, Volume)> {
        let size = self.sizes.template_bytes.to_string();
        let host_copy = self.array.create_volume(HOST_COPY, &size)?;
        let array_copy = self.array.create_volume(ARRAY_COPY, &size)?;
        say("copying the template: qemu-img convert reads and writes")?;
        let host = self.measure(|| self.convert(&[], template.url(), host_copy.url()))?;
        say("copying the template: qemu-img convert -C asks the array (EXTENDED COPY)")?;
        let limit = share(self.sizes.content_bytes);
        let array = self.measure_quiet(limit, || self.convert(&["-C"], template.url(), array_copy.url()))?;

        say("comparing the copies, and checking the file system on the offloaded one")?;
        let same =
            self.identical(template.url(), host_copy.url())? & self.identical(template.url(), array_copy.url())?;
        report.check(same, "both copies are identical to the template (qemu-img compare)");
        let sound = self.file_system_is_sound(&array_copy)?;
        report.check(sound, "the file system on the offloaded copy is sound (e2fsck)");
        report.check(
            array.wire_bytes < limit,
            format!(
                "EXTENDED COPY sent {} over the wire, less than 1 % of the data; the host's copy {}",
                text::size::format(array.wire_bytes),
                text::size::format(host.wire_bytes)
            ),
        );
        report.check(
            grown(array) < share(self.sizes.content_bytes),
            format!("the offloaded copy took {} of the pool; the host's copy {}", growth(array), growth(host)),
        );
        report.rows.push(Row {
            operation: "copy the template".into(),
            host: Some(host),
            array: Some(array),
            result: verdict(same && sound),
        });
        Ok((host_copy, array_copy))
    }

    /// Clones the whole template with one administrative command.
    fn clone_volume(
        &self,
        report: &mut Report,
        template: &Volume,
        say: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        say("cloning the template with one command: windlass volume clone")?;
        let array = self.measure(|| self.array.command(&["volume", "clone", TEMPLATE, CLONE]).map(drop))?;
        let clone = self.array.publish_volume(CLONE)?;
        let held = self.identical(template.url(), clone.url())?;
        report.check(held, "the cloned volume is identical to the template");
        report.check(
            grown(array) < share(self.sizes.content_bytes),
            format!("the cloned volume took {} of the pool", growth(array)),
        );
        report.rows.push(Row {
            operation: "clone the volume".into(),
            host: None,
            array: Some(array),
            result: verdict(held),
        });
        Ok(())
    }

    /// Zeroes two new disks: with writes of zeros, and with WRITE SAME.
    fn zero(&self, report: &mut Report, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let bytes = self.sizes.zero_bytes;
        // Both disks hold data before, so that reading zeros afterwards proves something.
        let filled = self.array.create_volume("zeroed-by-host", &bytes.to_string())?;
        let filled_too = self.array.create_volume("zeroed-by-array", &bytes.to_string())?;
        let part = bytes / 16;
        for volume in [&filled, &filled_too] {
            self.client(
                volume,
                &[format!("write -q -P 0x5a 0 {part}"), format!("write -q -P 0xa5 {} {part}", 8 * part)],
            )?;
        }
        say(&format!("zeroing {}: qemu-io writes zeros", text::size::format(bytes)))?;
        let writes: Vec<_> = (0..16).map(|index| format!("write -q -P 0 {} {part}", index * part)).collect();
        let host = self.measure(|| self.client(&filled, &writes))?;
        say(&format!("zeroing {}: qemu-io asks the array (WRITE SAME)", text::size::format(bytes)))?;
        // Only the first run meets data, but every run sends the same commands.
        let array =
            self.measure_quiet(share(bytes), || self.client(&filled_too, &[format!("write -q -z 0 {bytes}")]))?;
        let held = self.reads_zeros(&filled, bytes)? & self.reads_zeros(&filled_too, bytes)?;
        report.check(held, "both zeroed disks read as zeros (qemu-io)");
        report.check(
            array.wire_bytes < share(bytes),
            format!(
                "WRITE SAME sent {} over the wire for {}",
                text::size::format(array.wire_bytes),
                text::size::format(bytes)
            ),
        );
        report.rows.push(Row {
            operation: format!("zero {}", text::size::format(bytes)),
            host: Some(host),
            array: Some(array),
            result: if held { "reads zeros".into() } else { "WRONG DATA".into() },
        });
        Ok(())
    }

    /// Unmaps the host's copy and waits for its space; the offloaded copy must stay intact.
    fn unmap(
        &self,
        report: &mut Report,
        host_copy: &Volume,
        array_copy: &Volume,
        say: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        say("freeing the host's copy: qemu-io discards it (UNMAP)")?;
        let wanted = self.sizes.content_bytes / 2;
        let discard = [
            format!("discard -q 0 {}", self.sizes.template_bytes / 2),
            format!("discard -q {0} {0}", self.sizes.template_bytes / 2),
        ];
        let array = self.measure_release(wanted, || self.client(host_copy, &discard))?;
        let zeros = self.reads_zeros(host_copy, self.sizes.template_bytes)?;
        report.check(zeros, "the unmapped disk reads as zeros (qemu-io)");
        let back = freed(array) >= wanted;
        report.check(back, format!("unmapping freed {} in the pool", text::size::format(freed(array))));
        let held = self.file_system_is_sound(array_copy)?;
        report.check(held, "the offloaded copy is still sound after its source's other copy was unmapped (e2fsck)");
        report.rows.push(Row {
            operation: "unmap a disk".into(),
            host: None,
            array: Some(array),
            result: if back && zeros { "space is freed".into() } else { "SPACE OR DATA WRONG".into() },
        });
        Ok(())
    }

    /// Lets two hosts take a lock many times: by reservation, and by COMPARE AND WRITE.
    fn lock(&self, report: &mut Report, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let times = self.sizes.locks;
        let volume = self.array.create_volume("lock", "64M")?;
        let mut hosts = lock::Hosts::log_in(&volume.urls)?;
        let mut contend = |add: lock::Add| -> Result<(Measured, u64, bool)> {
            let (before, mut conflicts) = (hosts.counter()?, 0);
            let measured = self.measure(|| {
                conflicts = hosts.contend(times, add)?;
                Ok(())
            })?;
            let all = volume.urls.len() as u64 * times;
            Ok((measured, conflicts, hosts.counter()? == before + all))
        };
        say(&format!("two hosts take a lock {times} times each: RESERVE, READ, WRITE, RELEASE"))?;
        let (host, host_conflicts, host_held) = contend(lock::with_reservation)?;
        say(&format!("two hosts take a lock {times} times each: COMPARE AND WRITE"))?;
        let (array, conflicts, held) = contend(lock::with_compare_and_write)?;
        report.check(
            host_held && held,
            format!(
                "no lock was taken twice; {conflicts} conflicts with COMPARE AND WRITE, {host_conflicts} with RESERVE"
            ),
        );
        say(&format!("racing COMPARE AND WRITE with everything else that writes, {} rounds", self.sizes.race_rounds))?;
        let race = lock::race(&volume.urls, self.sizes.race_rounds)?;
        report.check(
            race.passed(),
            format!(
                "COMPARE AND WRITE, WRITE, WRITE SAME, UNMAP and EXTENDED COPY raced on one block for {} rounds: {}",
                race.rounds,
                if race.passed() { "no lost update" } else { "UPDATES LOST" }
            ),
        );
        report.rows.push(Row {
            operation: format!("{} locks, two hosts", volume.urls.len() as u64 * times),
            host: Some(host),
            array: Some(array),
            result: if host_held && held { "no lost update".into() } else { "UPDATES LOST".into() },
        });
        Ok(())
    }

    /// Errors after Ctrl-C, to stop the demo between two steps.
    pub(crate) fn check_interrupted(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Runs an action, and reads the meters before and after.
    pub(crate) fn measure(&self, action: impl FnOnce() -> Result<()>) -> Result<Measured> {
        self.check_interrupted()?;
        let pool_before = self.array.pool_number("used_bytes")?;
        let wire_before = observe::loopback_bytes()?;
        let started = Instant::now();
        action()?;
        let elapsed = started.elapsed();
        let wire_after = observe::loopback_bytes()?;
        let pool_after = self.array.pool_number("used_bytes")?;
        let wire_bytes = wire_after.saturating_sub(wire_before);
        Ok(Measured { elapsed, wire_bytes, pool_bytes: (pool_before, pool_after) })
    }

    /// Like [`Stage::measure`], for an action that frees space: waits until as much is free, as long as it may take.
    pub(crate) fn measure_release(&self, wanted_bytes: u64, action: impl FnOnce() -> Result<()>) -> Result<Measured> {
        let mut measured = self.measure(action)?;
        let started = Instant::now();
        while freed(measured) < wanted_bytes && started.elapsed() < RELEASE_LIMIT {
            self.check_interrupted()?;
            std::thread::sleep(Duration::from_millis(20));
            measured.pool_bytes.1 = self.array.pool_number("used_bytes")?;
        }
        Ok(measured)
    }

    /// Like [`Stage::measure`], for an action that may be repeated. The byte counter includes the
    /// traffic of other programs on this machine. So when more than `limit_bytes` were counted, the
    /// action is repeated, three times in all, and the lowest count is used.
    pub(crate) fn measure_quiet(&self, limit_bytes: u64, action: impl Fn() -> Result<()>) -> Result<Measured> {
        let mut measured = self.measure(&action)?;
        for _ in 0..2 {
            if measured.wire_bytes >= limit_bytes {
                measured.wire_bytes = measured.wire_bytes.min(self.measure(&action)?.wire_bytes);
            }
        }
        Ok(measured)
    }

    /// Runs `qemu-img convert` between two existing disks.
    fn convert(&self, options: &[&str], from: &str, to: &str) -> Result<()> {
        let mut arguments = vec!["convert", "-n"];
        arguments.extend_from_slice(options);
        arguments.extend_from_slice(&["-f", "raw", "-O", "raw", from, to]);
        program::require(&self.tools.qemu_img, &arguments, CLIENT_LIMIT).map(drop)
    }

    /// Runs `qemu-io` commands on a volume. A failed command shows in its output and exit status.
    fn client(&self, volume: &Volume, commands: &[String]) -> Result<()> {
        let finished = self.qemu_io(volume, commands)?;
        ensure!(
            finished.success(),
            "qemu-io failed on volume {}:\n{}{}",
            volume.name,
            finished.stdout,
            finished.stderr
        );
        Ok(())
    }

    fn qemu_io(&self, volume: &Volume, commands: &[String]) -> Result<Finished> {
        self.check_interrupted()?;
        let mut arguments = vec!["-f", "raw"];
        for command in commands {
            arguments.extend_from_slice(&["-c", command]);
        }
        arguments.push(volume.url());
        program::run(&self.tools.qemu_io, &arguments, CLIENT_LIMIT)
    }

    /// Reads the first `bytes` of the volume and compares them with zeros.
    fn reads_zeros(&self, volume: &Volume, bytes: u64) -> Result<bool> {
        let step = bytes / 16;
        let reads: Vec<_> = (0..16).map(|index| format!("read -q -P 0 {} {step}", index * step)).collect();
        let finished = self.qemu_io(volume, &reads)?;
        Ok(finished.success() && !finished.stdout.contains("verification failed"))
    }

    /// `qemu-img compare`: status 0 is equal, 1 is different, anything else an error.
    fn identical(&self, left: &str, right: &str) -> Result<bool> {
        self.check_interrupted()?;
        let arguments = ["compare", "-f", "raw", "-F", "raw", left, right];
        let finished = program::run(&self.tools.qemu_img, &arguments, CLIENT_LIMIT)?;
        match finished.status.and_then(|status| status.code()) {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => anyhow::bail!("qemu-img compare {left} {right} failed:\n{}{}", finished.stdout, finished.stderr),
        }
    }

    /// Reads the volume back into a file and checks the file system in it.
    fn file_system_is_sound(&self, volume: &Volume) -> Result<bool> {
        let image = self.directory.join("read-back.img");
        let name = image.display().to_string();
        let arguments = ["convert", "-f", "raw", "-O", "raw", volume.url(), &name];
        program::require(&self.tools.qemu_img, &arguments, CLIENT_LIMIT)?;
        let finished = program::run(&self.tools.e2fsck, &["-f", "-n", &name], CLIENT_LIMIT)?;
        std::fs::remove_file(&image).context("cannot remove the image that was read back")?;
        Ok(finished.success())
    }
}

/// One per cent of `bytes`.
pub(crate) fn share(bytes: u64) -> u64 {
    (bytes as f64 * WIRE_SHARE) as u64
}

/// Space taken from the pool, in bytes.
pub(crate) fn grown(measured: Measured) -> u64 {
    measured.pool_bytes.1.saturating_sub(measured.pool_bytes.0)
}

/// Space returned to the pool, in bytes.
pub(crate) fn freed(measured: Measured) -> u64 {
    measured.pool_bytes.0.saturating_sub(measured.pool_bytes.1)
}

/// Change of the pool's used space, for display.
pub(crate) fn growth(measured: Measured) -> String {
    text::size::change(measured.pool_bytes.0, measured.pool_bytes.1)
}

/// Word for the result of a comparison.
pub(crate) fn verdict(held: bool) -> String {
    if held { "identical".into() } else { "DIFFERENT".into() }
}
