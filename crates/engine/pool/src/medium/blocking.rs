//! Blocking requests, for opening a pool and for tools: no other request may be in flight.

use media::{BlockAddress, Buffer, Completion, Done, Media, MediaError, Ticket};

/// Largest number of concurrent requests.
const IN_FLIGHT: usize = 64;

/// Waits for the completion of `ticket`.
pub(crate) fn await_ticket<M: Media>(media: &mut M, ticket: Ticket) -> Result<Done, MediaError> {
    media.submit();
    loop {
        while let Some(Completion { ticket: found, result }) = media.poll() {
            if found == ticket {
                return result;
            }
        }
        media.wait();
    }
}

/// Reads several runs of blocks (address and length), many at once. Returns the results in the
/// order of the requests; an error has the reason.
pub(crate) fn read_many<M: Media>(media: &mut M, runs: &[(u64, usize)]) -> Vec<Result<Buffer, String>> {
    let mut results: Vec<Option<Result<Buffer, String>>> = runs.iter().map(|_| None).collect();
    let (mut started, mut finished) = (0, 0);
    while finished < runs.len() {
        while started < runs.len() && started - finished < IN_FLIGHT {
            let (address, blocks) = runs[started];
            media.read(started as u64, BlockAddress(address), Buffer::zeroed(blocks));
            started += 1;
        }
        media.wait();
        let before = finished;
        while let Some(completion) = media.poll() {
            let Some(slot) = results.get_mut(completion.ticket as usize) else { continue };
            *slot = Some(match completion.result {
                Ok(Done::Read(buffer)) => Ok(buffer),
                Ok(_) => Err("the medium answered a read with something else".to_owned()),
                Err(error) => Err(error.to_string()),
            });
            finished += 1;
        }
        if finished == before {
            break; // no request is outstanding
        }
    }
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|| Err("the medium did not answer a read".to_owned())))
        .collect()
}
