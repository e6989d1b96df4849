use super::super::prelude::*;

check! {
    /// A target that shuts down asks for logout with an asynchronous message (event 1), and then
    /// closes.
    175, "RFC 7143 §11.9", needs: [Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.session(A)?;
    bench.hook(&["shutdown"])?;
    let message = bench.session(A)?.wait_event(|event| matches!(event, Event::Async { .. }));
    bench.hook(&["start"])?;
    bench.cut_all();
    match message {
        Ok(Event::Async { event, .. }) => expect_equal("asynchronous event", event.0, 1)?,
        Ok(_) => return failed("expected asynchronous event 1, found another PDU"),
        Err(error) => return failed(format!("expected asynchronous event 1 before the end, found none: {error}")),
    }
    Ok(())
}
