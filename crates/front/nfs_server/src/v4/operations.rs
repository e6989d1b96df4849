//! The operations that are served: their rows, and the one place that calls them.

use super::context::Context;
use super::row::Row;
use super::{
    access, advise, allocate, back_channel_control, bind_connection, clone, close, commit, copy, create,
    create_session, deallocate, destroy_client_id, destroy_session, downgrade, exchange_id, free_stateid,
    get_attributes, get_filehandle, get_xattr, link, list_xattrs, lock, lock_test, lookup, lookup_parent,
    offload_cancel, offload_status, open, put_filehandle, put_root_filehandle, read, read_directory, read_link,
    read_plus, reclaim_complete, remove, remove_xattr, rename, restore_filehandle, save_filehandle,
    security_information, seek, set_attributes, set_xattr, test_stateid, unlock, verify, write, write_same,
};
use crate::failure::Failure;
use crate::rpc::NoResults;
use nfs::v4::Status;
use nfs::v4::compound::{CompoundOperation, CompoundOutcome};
use nfs::v4::locks::LockFailure;
use nfs::v4::operations::{Operation, Outcome};
use vfs::FileSystem;

/// Rows of the operations that are served, by number.
pub(super) const ROWS: &[&Row] = &[
    &access::ROW,
    &close::ROW,
    &commit::ROW,
    &create::ROW,
    &get_attributes::ROW,
    &get_filehandle::ROW,
    &link::ROW,
    &lock::ROW,
    &lock_test::ROW,
    &unlock::ROW,
    &lookup::ROW,
    &lookup_parent::ROW,
    &verify::NVERIFY,
    &open::ROW,
    &downgrade::ROW,
    &put_filehandle::ROW,
    &put_root_filehandle::PUTPUBFH,
    &put_root_filehandle::PUTROOTFH,
    &read::ROW,
    &read_directory::ROW,
    &read_link::ROW,
    &remove::ROW,
    &rename::ROW,
    &restore_filehandle::ROW,
    &save_filehandle::ROW,
    &security_information::SECINFO,
    &set_attributes::ROW,
    &verify::VERIFY,
    &write::ROW,
    &back_channel_control::ROW,
    &bind_connection::ROW,
    &exchange_id::ROW,
    &create_session::ROW,
    &destroy_session::ROW,
    &free_stateid::ROW,
    &security_information::SECINFO_NO_NAME,
    &test_stateid::ROW,
    &destroy_client_id::ROW,
    &reclaim_complete::ROW,
    &allocate::ROW,
    &copy::ROW,
    &deallocate::ROW,
    &advise::ROW,
    &offload_cancel::ROW,
    &offload_status::ROW,
    &read_plus::ROW,
    &seek::ROW,
    &write_same::ROW,
    &clone::ROW,
    &get_xattr::ROW,
    &set_xattr::ROW,
    &list_xattrs::ROW,
    &remove_xattr::ROW,
];

/// Row of an operation; `None` if it is not served.
pub(crate) fn row_of(code: u32) -> Option<&'static Row> {
    ROWS.binary_search_by_key(&code, |row| row.code).ok().and_then(|index| ROWS.get(index).copied())
}

/// The results, or the status of the failure. [`NoResults::Unknown`]: no reply.
fn results<T>(row: &Row, results: Result<T, Failure>) -> Result<Result<T, Status>, NoResults> {
    match results {
        Ok(value) => Ok(Ok(value)),
        Err(failure) => row.status(&failure).map(Err).ok_or(NoResults::Unknown),
    }
}

/// Executes an operation and turns what its file returns into results.
macro_rules! run {
    ($variant:ident, $row:path, $executed:expr) => {
        Outcome::$variant(results(&$row, $executed)?)
    };
}

/// As [`run`], for an operation that may be an offload: keeps the cause of its failure for the log.
macro_rules! offload {
    ($context:ident, $variant:ident, $row:path, $executed:expr) => {{
        let executed = $executed;
        $context.failure = executed.as_ref().err().cloned();
        run!($variant, $row, executed)
    }};
}

/// Executes an operation whose handles were checked.
pub(super) async fn dispatch<F: FileSystem>(
    context: &mut Context<'_, F>,
    operation: Operation,
) -> Result<Outcome, NoResults> {
    use Operation as O;
    Ok(match operation {
        O::Access(arguments) => run!(Access, access::ROW, access::execute(context, &arguments).await),
        O::Create(arguments) => run!(Create, create::ROW, create::execute(context, *arguments).await),
        O::GetAttributes(arguments) => {
            offload!(
                context,
                GetAttributes,
                get_attributes::ROW,
                get_attributes::execute(context, &arguments.wanted).await
            )
        }
        O::GetFilehandle => run!(GetFilehandle, get_filehandle::ROW, get_filehandle::execute(context)),
        O::Link(name) => run!(Link, link::ROW, link::execute(context, name).await),
        O::Lookup(name) => run!(Lookup, lookup::ROW, lookup::execute(context, name).await),
        O::LookupParent => run!(LookupParent, lookup_parent::ROW, lookup_parent::execute(context).await),
        O::VerifyDifferent(attributes) => {
            run!(VerifyDifferent, verify::NVERIFY, verify::execute_different(context, &attributes).await)
        }
        O::Verify(attributes) => run!(Verify, verify::VERIFY, verify::execute(context, &attributes).await),
        O::PutFilehandle(handle) => run!(PutFilehandle, put_filehandle::ROW, put_filehandle::execute(context, &handle)),
        O::PutPublicFilehandle => {
            run!(PutPublicFilehandle, put_root_filehandle::PUTPUBFH, put_root_filehandle::execute(context))
        }
        O::PutRootFilehandle => {
            run!(PutRootFilehandle, put_root_filehandle::PUTROOTFH, put_root_filehandle::execute(context))
        }
        O::ReadDirectory(arguments) => {
            run!(ReadDirectory, read_directory::ROW, read_directory::execute(context, &arguments).await)
        }
        O::ReadLink => run!(ReadLink, read_link::ROW, read_link::execute(context).await),
        O::Remove(name) => run!(Remove, remove::ROW, remove::execute(context, name).await),
        O::Rename(arguments) => run!(Rename, rename::ROW, rename::execute(context, arguments).await),
        O::RestoreFilehandle => {
            run!(RestoreFilehandle, restore_filehandle::ROW, restore_filehandle::execute(context))
        }
        O::SaveFilehandle => run!(SaveFilehandle, save_filehandle::ROW, save_filehandle::execute(context)),
        O::SecurityInformation(name) => {
            let flavors = security_information::execute(context, name).await;
            run!(SecurityInformation, security_information::SECINFO, flavors)
        }
        O::SecurityInformationNoName(style) => {
            let flavors = security_information::execute_no_name(context, style).await;
            run!(SecurityInformationNoName, security_information::SECINFO_NO_NAME, flavors)
        }
        O::SetAttributes(arguments) => {
            let set = results(&set_attributes::ROW, set_attributes::execute(context, &arguments).await)?;
            Outcome::SetAttributes(set_attributes::results(set))
        }
        other => return content(context, other).await,
    })
}

/// Results of an operation that may tell the lock in the way.
fn lock_results<T>(
    row: &Row,
    locked: Result<Result<T, LockFailure>, Failure>,
) -> Result<Result<T, LockFailure>, NoResults> {
    match locked {
        Ok(Ok(value)) => Ok(Ok(value)),
        Ok(Err(LockFailure::Denied(denied))) => Ok(Err(LockFailure::Denied(denied))),
        Ok(Err(LockFailure::Other(status))) => {
            results(row, Err(status.into())).map(|failed| failed.map_err(LockFailure::Other))
        }
        Err(failure) => results(row, Err(failure)).map(|failed| failed.map_err(LockFailure::Other)),
    }
}

/// Executes an operation on the state of clients.
async fn state<F: FileSystem>(context: &mut Context<'_, F>, operation: Operation) -> Result<Outcome, NoResults> {
    use Operation as O;
    Ok(match operation {
        O::Open(arguments) => run!(Open, open::ROW, open::execute(context, &arguments).await),
        O::Close(arguments) => run!(Close, close::ROW, close::execute(context, &arguments)),
        O::Downgrade(arguments) => run!(Downgrade, downgrade::ROW, downgrade::execute(context, &arguments)),
        O::Lock(arguments) => Outcome::Lock(lock_results(&lock::ROW, lock::execute(context, &arguments).await)?),
        O::LockTest(arguments) => {
            Outcome::LockTest(lock_results(&lock_test::ROW, lock_test::execute(context, &arguments).await)?)
        }
        O::Unlock(arguments) => run!(Unlock, unlock::ROW, unlock::execute(context, &arguments)),
        O::FreeStateid(stateid) => run!(FreeStateid, free_stateid::ROW, free_stateid::execute(context, &stateid)),
        O::TestStateid(stateids) => run!(TestStateid, test_stateid::ROW, test_stateid::execute(context, &stateids)),
        O::BackChannelControl(arguments) => {
            run!(BackChannelControl, back_channel_control::ROW, back_channel_control::execute(context, &arguments))
        }
        O::BindConnection(arguments) => {
            run!(BindConnection, bind_connection::ROW, bind_connection::execute(context, &arguments))
        }
        O::ExchangeId(arguments) => run!(ExchangeId, exchange_id::ROW, exchange_id::execute(context, &arguments)),
        O::CreateSession(arguments) => {
            run!(CreateSession, create_session::ROW, create_session::execute(context, &arguments).await)
        }
        O::DestroySession(session) => {
            run!(DestroySession, destroy_session::ROW, destroy_session::execute(context, &session))
        }
        O::DestroyClientId(client) => {
            run!(DestroyClientId, destroy_client_id::ROW, destroy_client_id::execute(context, client))
        }
        O::ReclaimComplete(one) => {
            run!(ReclaimComplete, reclaim_complete::ROW, reclaim_complete::execute(context, one))
        }
        // OPENATTR: there are no named attributes.
        other => Outcome::failed(other.code(), Status::NOTSUPP),
    })
}

/// Executes an operation on content or extended attributes.
async fn content<F: FileSystem>(context: &mut Context<'_, F>, operation: Operation) -> Result<Outcome, NoResults> {
    use Operation as O;
    Ok(match operation {
        O::Commit(_) => run!(Commit, commit::ROW, commit::execute(context).await),
        O::Read(arguments) => run!(Read, read::ROW, read::execute(context, &arguments).await),
        O::Write(arguments) => run!(Write, write::ROW, write::execute(context, arguments).await),
        O::Allocate(arguments) => {
            offload!(context, Allocate, allocate::ROW, allocate::execute(context, &arguments).await)
        }
        O::Copy(arguments) => {
            let executed = copy::execute(context, &arguments).await;
            context.failure = executed.as_ref().err().cloned();
            let copied = results(&copy::ROW, executed)?;
            Outcome::Copy(copied.map_err(copy::failed))
        }
        O::Deallocate(arguments) => {
            offload!(context, Deallocate, deallocate::ROW, deallocate::execute(context, &arguments).await)
        }
        O::Advise(arguments) => run!(Advise, advise::ROW, advise::execute(context, &arguments).await),
        O::ReadPlus(arguments) => {
            offload!(context, ReadPlus, read_plus::ROW, read_plus::execute(context, &arguments).await)
        }
        O::Seek(arguments) => offload!(context, Seek, seek::ROW, seek::execute(context, &arguments).await),
        O::WriteSame(arguments) => {
            offload!(context, WriteSame, write_same::ROW, write_same::execute(context, &arguments).await)
        }
        O::Clone(arguments) => offload!(context, Clone, clone::ROW, clone::execute(context, &arguments).await),
        O::GetXattr(name) => offload!(context, GetXattr, get_xattr::ROW, get_xattr::execute(context, name).await),
        O::SetXattr(arguments) => run!(SetXattr, set_xattr::ROW, set_xattr::execute(context, arguments).await),
        O::ListXattrs(arguments) => run!(ListXattrs, list_xattrs::ROW, list_xattrs::execute(context, &arguments).await),
        O::RemoveXattr(name) => run!(RemoveXattr, remove_xattr::ROW, remove_xattr::execute(context, name).await),
        O::OffloadCancel(stateid) => {
            offload!(context, OffloadCancel, offload_cancel::ROW, offload_cancel::execute(context, &stateid).await)
        }
        O::OffloadStatus(stateid) => {
            offload!(context, OffloadStatus, offload_status::ROW, offload_status::execute(context, &stateid))
        }
        // The server grants no delegations.
        O::ReturnDelegation(_) => Outcome::failed(operation.code(), Status::BAD_STATEID),
        other => return state(context, other).await,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nfs::v4::operations::OPERATIONS;

    #[test]
    fn rows_are_in_order_and_of_operations_that_there_are() {
        assert!(ROWS.is_sorted_by_key(|row| row.code));
        for row in ROWS {
            assert!(OPERATIONS.iter().any(|operation| operation.code == row.code), "{}", row.code);
            assert_eq!(row_of(row.code).map(|found| found.code), Some(row.code));
        }
    }
}
