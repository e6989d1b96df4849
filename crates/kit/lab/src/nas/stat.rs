//! `nas-stat`: capacity, used and unshared bytes, as VNX prints them for `vmkfstools
//! --extendedstat`, of thin, thick and cloned disks. Off is a copy by the host, which shares
//! nothing; on is a clone.

use super::content::{self, BLOCK, MIB};
use super::copy::copy;
use super::files::{Method, Reserve, Usage};
use super::findings::{Findings, Values};
use super::{Bench, NasError};
use crate::results::{Better, Paper};

pub(super) const TITLE: &str = "Capacity, used and unshared bytes of thin, thick and cloned disks";

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, extended statistics".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "vmkfstools --extendedstat reports capacity, used and unshared bytes of a disk: a thin disk uses its written part, a thick one all of it, a clone \
                shares what it has not changed."
            .into(),
        figures: Vec::new(),
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    thin(bench, findings)?;
    thick(bench, findings)?;
    let (files, source) = (bench.files(), "source");
    content::create(bench, source)?;
    let whole = files.usage(source)?;
    if whole.unshared.is_none() {
        findings.note("Which blocks are shared is not known here: the server has no space_freed, or the file system no FIEMAP, or the host no filefrag (e2fsprogs).".into());
    }
    copy(bench, Method::ReadWrite, source, "copy")?;
    let of_copy = files.usage("copy")?;
    add(&mut findings.off, of_copy);
    let size = bench.size();
    findings.check(of_copy.capacity == size, || {
        format!("a copy has a capacity of {} bytes, expected {size}", of_copy.capacity)
    });
    let shared = of_copy.unshared.is_some_and(|unshared| unshared < of_copy.used.min(size));
    findings.check(!shared, || format!("a copy shares extents: {of_copy:?}"));
    files.remove("copy")?;
    match copy(bench, Method::Clone, source, "clone") {
        Ok(_) => cloned(bench, findings, source, "clone"),
        Err(error @ NasError::Unsupported { .. }) => {
            findings.skipped = Some(error.to_string());
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn add(values: &mut Values, usage: Usage) {
    values.bytes("capacity_bytes", usage.capacity, Better::Neither);
    values.bytes("used_bytes", usage.used, Better::Neither);
    values.bytes("data_bytes", usage.data, Better::Neither);
    if let Some(unshared) = usage.unshared {
        values.bytes("unshared_bytes", unshared, Better::Lower);
    }
}

/// Tolerance for space beside the data of a file: maps, preallocation at its end.
fn slack(bytes: u64) -> u64 {
    bytes / 16 + 8 * MIB / 32
}

/// Checks a thin disk of which a quarter is written.
fn thin(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let (files, name) = (bench.files(), "thin");
    files.create(name)?;
    let size = bench.size();
    let written = (size / 4).next_multiple_of(BLOCK);
    files.set_size(name, size)?;
    content::fill(bench, files, name, 0..written)?;
    files.sync(name)?;
    let found = files.usage(name)?;
    add(findings.others.entry("thin").or_default(), found);
    let fits = found.capacity == size && found.used <= written + slack(written) && found.used >= written;
    findings.check(fits, || format!("a thin disk of {size} bytes with {written} written: {found:?}"));
    let data = found.data >= written && found.data <= written + slack(written);
    if !data {
        findings.note(format!("SEEK reports {} bytes of data where {written} were written.", found.data));
    }
    files.remove(name)
}

/// Checks a thick disk that is reserved, not written.
fn thick(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let (files, name) = (bench.files(), "thick");
    files.create(name)?;
    let size = bench.size();
    match files.reserve(Reserve::Lazy, name, size) {
        Ok(()) => {
            files.sync(name)?;
            let found = files.usage(name)?;
            add(findings.others.entry("thick").or_default(), found);
            let fits = found.capacity == size && found.used >= size && found.used <= size + slack(size);
            findings.check(fits, || format!("a thick disk of {size} bytes: {found:?}"));
        }
        Err(error @ NasError::Unsupported { .. }) => findings.note(error.to_string()),
        Err(error) => return Err(error),
    }
    files.remove(name)
}

/// Checks a clone: it shares everything at first, and after writes to a quarter of it all but that.
fn cloned(bench: &Bench<'_>, findings: &mut Findings, source: &str, clone: &str) -> Result<(), NasError> {
    let (files, size) = (bench.files(), bench.size());
    let (of_source, of_clone) = (files.usage(source)?, files.usage(clone)?);
    add(&mut findings.on, of_clone);
    findings.on.moved_bytes = [("offloaded".to_owned(), size)].into();
    findings.off.moved_bytes = [("read and written by this host".to_owned(), size)].into();
    findings.check(of_clone.capacity == size && of_clone.data == of_source.data, || {
        format!("a clone differs from its source: {of_clone:?}, {of_source:?}")
    });
    findings.check(of_clone.unshared.is_none_or(|unshared| unshared == 0), || {
        format!("a fresh clone does not share all blocks: {of_clone:?}")
    });
    let changed = (size / 4).next_multiple_of(BLOCK);
    for number in 0..changed / BLOCK {
        bench.check_cancelled()?;
        files.write(clone, number * BLOCK, &content::block(number, 1))?;
    }
    files.sync(clone)?;
    let found = files.usage(clone)?;
    add(findings.others.entry("changed clone").or_default(), found);
    let fits = found.unshared.is_none_or(|unshared| unshared >= changed && unshared <= changed + slack(changed));
    findings.check(fits, || format!("a clone of which {changed} bytes were written: {found:?}"));
    let wrong = content::verify(bench, files, source, |_| content::Found::Stamp(0))?;
    findings
        .check(wrong.is_none(), || format!("writes to the clone changed its source: {}", wrong.unwrap_or_default()));
    let expected = |number: u64| content::Found::Stamp(u64::from(number < changed / BLOCK));
    let wrong = content::verify(bench, files, clone, expected)?;
    findings
        .check(wrong.is_none(), || format!("the clone differs from the written data: {}", wrong.unwrap_or_default()));
    Ok(())
}
