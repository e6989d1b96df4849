//! Lists with identifiers of four bytes, tokens, and the third-party copy VPD page.

use super::super::prelude::*;
pub use crate::token::{self, Token};

/// Converts the list of an EXTENDED COPY (LID1) to one of LID4; results are kept. `flags`: G_SENSE
/// and IMMED.
pub fn lid4(list: &[u8], list_identifier: u32, flags: u8) -> Vec<u8> {
    let mut header = vec![0x01, 0x00, 0x00, 0x20];
    header.resize(48, 0);
    (header[15], header[16]) = (flags, 0xFF);
    header[20..24].copy_from_slice(&list_identifier.to_be_bytes());
    header[42..44].copy_from_slice(&list[2..4]);
    header[44..46].copy_from_slice(&list[10..12]);
    header.extend_from_slice(&list[16..]);
    header
}

/// Sends EXTENDED COPY (LID4); skips the check if it is not supported.
pub fn copy4(bench: &mut Bench<'_>, list: Vec<u8>) -> Result<Answer, NotPassed> {
    let mut cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX));
    cdb[1] = 0x01;
    let answer = bench.send_data(A, cdb, list)?;
    if is_there(&answer) { Ok(answer) } else { skipped("no EXTENDED COPY (LID4)") }
}

/// Whether a command is implemented, according to its answer.
pub fn is_there(answer: &Answer) -> bool {
    !answer.is(0x05, 0x20, 0x00) && !answer.is(0x05, 0x24, 0x00)
}

/// Whether OPERATING PARAMETERS list this type of descriptor.
pub fn implements(bench: &mut Bench<'_>, descriptor_type: u8) -> Result<bool, NotPassed> {
    let parameters = parameters(bench)?;
    Ok(parameters.data().get(44..).unwrap_or_default().contains(&descriptor_type))
}

/// Sets or clears SWP.
pub fn protect(bench: &mut Bench<'_>, path: Path, on: bool) -> Verdict {
    let done = bench.session(path).map(drop).and_then(|()| {
        let url = bench.url(path)?;
        let session = bench.session(path)?;
        session.select(&url);
        Ok(session.set_software_write_protect(on)?)
    });
    // Other nexuses get a unit attention.
    bench.clear_unit_attentions();
    done
}

/// Sends POPULATE TOKEN; returns its answer.
pub fn populate_answer(bench: &mut Bench<'_>, path: Path, ranges: &[(u64, u32)]) -> Result<Answer, NotPassed> {
    let list = token::populate_list(0, ranges);
    bench.send_data(path, token::populate_token(1, u32::try_from(list.len()).unwrap_or(u32::MAX)), list)
}

/// Creates a token of ranges; skips the check if tokens are not supported.
pub fn populate(bench: &mut Bench<'_>, path: Path, ranges: &[(u64, u32)]) -> Result<Token, NotPassed> {
    populate_with(bench, path, token::populate_list(0, ranges))
}

/// Creates a token from a parameter list.
pub fn populate_with(bench: &mut Bench<'_>, path: Path, list: Vec<u8>) -> Result<Token, NotPassed> {
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    let answer = bench.send_data(path, token::populate_token(1, length), list)?;
    if !is_there(&answer) {
        return skipped("no POPULATE TOKEN");
    }
    answer.good()?;
    let information = bench.fetch(path, token::receive(7, 1, 1024), 1024)?.good()?.masked(5, 0x7F, 0x01)?;
    match token::token_of(information.data()) {
        Some(token) => Ok(token),
        None => failed("RECEIVE ROD TOKEN INFORMATION: expected a token of 512 bytes, found none"),
    }
}

/// Sends WRITE USING TOKEN.
pub fn write_token(
    bench: &mut Bench<'_>,
    path: Path,
    token: &Token,
    offset: u64,
    ranges: &[(u64, u32)],
) -> Result<Answer, NotPassed> {
    let list = token::write_list(token, offset, false, ranges);
    bench.send_data(path, token::write_using_token(2, u32::try_from(list.len()).unwrap_or(u32::MAX)), list)
}

/// Descriptors of the third-party copy VPD page: (type, data).
pub fn copy_descriptors(bench: &mut Bench<'_>) -> Result<Vec<(u16, Vec<u8>)>, NotPassed> {
    let answer = bench.fetch(A, cdb::inquiry(Some(0x8F), 4096), 4096)?;
    if answer.is(0x05, 0x24, 0x00) {
        return skipped("no third-party copy VPD page");
    }
    let answer = answer.good()?;
    let mut rest = answer.data().get(4..).unwrap_or_default();
    let mut descriptors = Vec::new();
    while let [a, b, c, d, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*c, *d]));
        let Some((data, next)) = tail.split_at_checked(length) else {
            return failed("VPD page 8Fh: a descriptor is cut");
        };
        descriptors.push((u16::from_be_bytes([*a, *b]), data.to_vec()));
        rest = next;
    }
    Ok(descriptors)
}
