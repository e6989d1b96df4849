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
pub(crate) fn read_many<M: Media>(media: &mut M, runs: &[(BlockAddress, usize)]) -> Vec<Result<Buffer, String>> {
    let mut results: Vec<Option<Result<Buffer, String>>> = runs.iter().map(|_| None).collect();
    let (mut started, mut finished) = (0, 0);
    while finished < runs.len() {
        while started < runs.len() && started - finished < IN_FLIGHT {
            let (address, blocks) = runs[started];
            media.read(started as u64, address, Buffer::zeroed(blocks));
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

/// Reads several runs of blocks like [`read_many`], and passes each to `take` when it arrives: the
/// index of the request and its result. Only the content of the runs in flight is in memory; their
/// buffers come from `spare` and return there.
pub(crate) fn read_each<M: Media>(
    media: &mut M,
    runs: &[(BlockAddress, usize)],
    spare: &mut Vec<Buffer>,
    mut take: impl FnMut(usize, Result<&Buffer, String>),
) {
    let mut unanswered: Vec<bool> = vec![true; runs.len()];
    let (mut started, mut finished) = (0, 0);
    while finished < runs.len() {
        while started < runs.len() && started - finished < IN_FLIGHT {
            let (address, blocks) = runs[started];
            let mut buffer = spare.pop().unwrap_or_default();
            buffer.resize(blocks);
            media.read(started as u64, address, buffer);
            started += 1;
        }
        media.wait();
        let before = finished;
        while let Some(completion) = media.poll() {
            let index = completion.ticket as usize;
            if !unanswered.get_mut(index).is_some_and(std::mem::take) {
                continue;
            }
            finished += 1;
            match completion.result {
                Ok(Done::Read(buffer)) => {
                    take(index, Ok(&buffer));
                    spare.push(buffer);
                }
                Ok(_) => take(index, Err("the medium answered a read with something else".to_owned())),
                Err(error) => take(index, Err(error.to_string())),
            }
        }
        if finished == before {
            break; // no request is outstanding
        }
    }
    for (index, _) in unanswered.iter().enumerate().filter(|(_, unanswered)| **unanswered) {
        take(index, Err("the medium did not answer a read".to_owned()));
    }
}
