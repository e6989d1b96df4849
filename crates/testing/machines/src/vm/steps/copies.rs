//! Copies made by the array, requested by ddpt and sg_xcopy: EXTENDED COPY, and tokens where they
//! are announced.

use crate::vm::lab::{INITIATOR, Lab, PLAIN, SECOND};
use anyhow::Result;
use conformance::initiator::{Session, SessionOptions};
use iscsi::initiator::TransferRequest;

/// 28 MiB: below the longest segment, as ddpt starts each further command of a copy at the first one's block.
const BLOCKS: u32 = 57_344;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    lab.login(&[0], &[])?;
    let (source, destination) = (lab.disk(INITIATOR, 0, PLAIN)?, lab.disk(INITIATOR, 0, SECOND)?);
    let fill = |size: &str| {
        format!("head -c {size} /dev/urandom >/run/data && dd if=/run/data of={source} bs=1M oflag=direct status=none")
    };
    let same =
        format!("blockdev --flushbufs {destination}; cmp -n $(({BLOCKS} * 512)) {source} {destination} && echo same");
    lab.require(&fill("28M"))?;
    let ddpt = format!("ddpt if={source} of={destination} bs=512 count={BLOCKS} --xcopy");
    lab.check("ddpt copies 28 MiB by EXTENDED COPY", &format!("{ddpt} && {same}"), 0, &["same"])?;
    lab.require(&format!("blkdiscard {destination}"))?;
    let sg_xcopy = format!("sg_xcopy if={source} of={destination} bs=512 count={BLOCKS} bpt=8192");
    lab.check("sg_xcopy copies it in seven pieces", &format!("{sg_xcopy} && {same}"), 0, &["same"])?;
    let shifted = format!(
        "sg_xcopy if={source} of={destination} bs=512 skip=3 seek=5 count=4097 && blockdev --flushbufs {destination} && \
         cmp -i $((3 * 512)):$((5 * 512)) -n $((4097 * 512)) {source} {destination} && echo same"
    );
    lab.check("an odd range at an odd place", &shifted, 0, &["same"])?;
    let within = format!(
        "sg_xcopy if={source} of={source} bs=512 skip=0 seek=65536 count=8192 && blockdev --flushbufs {source} && \
         cmp -i 0:$((65536 * 512)) -n $((8192 * 512)) {source} {source} && echo same"
    );
    lab.check("within one logical unit", &within, 0, &["same"])?;

    let mut session = Session::connect(&lab.url("plain")?, &SessionOptions::default())?;
    session.clear_unit_attentions()?;
    // REPORT SUPPORTED OPERATION CODES of POPULATE TOKEN (83h/10h): SUPPORT is in byte 1.
    let report = conformance::cdb::padded(&[0xa3, 0x0c, 0x03, 0x83, 0x00, 0x10, 0, 0, 1, 0, 0, 0]);
    let answer = session.run("REPORT SUPPORTED OPERATION CODES", report, TransferRequest::In(256))?;
    let announced = answer.get(1).is_some_and(|byte| byte & 0x07 == 0x03);
    session.logout()?;
    if !announced {
        println!("        POPULATE TOKEN is not announced: no copy by token");
        return Ok(());
    }
    lab.require(&format!("{} && blkdiscard {destination}", fill("28M")))?;
    // ddpt 0.97 writes the ranges one byte before their place in the parameter lists of POPULATE
    // TOKEN (n = 15 for 16) and WRITE USING TOKEN, so that LBAs and counts arrive multiplied by
    // 256. So ddpt is asked for 1/256 of them, and the number that it prints is ignored.
    let units = BLOCKS / 256;
    let token = format!("ddpt --odx if={source} of={destination} bs=512 skip=0,{units} seek=0,{units}; {same}");
    lab.check("ddpt copies 28 MiB by a token", &token, 0, &["same"])?;
    // A token represents the source as it was.
    let later = format!(
        "head -c 1M {source} >/run/before; ddpt --odx if={source} bs=512 skip=0,8 rtf=/run/token; \
         dd if=/dev/zero of={source} bs=1M count=1 oflag=direct status=none && \
         ddpt --odx rtf=/run/token of={destination} bs=512 seek=0,8; blockdev --flushbufs {destination} && \
         cmp -n 1048576 /run/before {destination} && echo same"
    );
    lab.check("a token gives the source as it was before it was overwritten", &later, 0, &["same"])?;
    Ok(())
}
