use super::super::prelude::*;

check! {
    /// ABORT TASK of a finished task is "function complete" for an initiator of VMware, which
    /// treats any other response as a broken target.
    144, "RFC 7143 §11.6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut session = match bench.named_session("iqn.1998-01.com.vmware:conformance-0badc0de") {
        Err(SessionError::Login { status, .. }) => {
            return skipped(format!("an initiator with VMware's name may not log in: {status:?}"));
        }
        other => other?,
    };
    let tag = session.submit(cdb::inquiry(None, 36), TransferRequest::In(36))?;
    session.wait(tag)?;
    let response = session.task_management(TaskManagementFunction::ABORT_TASK, Some(tag))?;
    expect_equal("response", response.0, 0)?;
    Ok(())
}
