//! Pauses in long work: all calls are polled on the thread that owns the file system.

use std::future::poll_fn;
use std::task::Poll;

/// Lets other work go on between two parts of a long one.
pub async fn pause() {
    let mut first = true;
    poll_fn(|context| {
        if !std::mem::take(&mut first) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
