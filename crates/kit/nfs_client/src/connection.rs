//! A connection with many calls in flight.

use crate::driver::{self, Output};
use crate::error::ClientError;
use crate::server::Server;
use bytes::Bytes;
use nfs::v4::callback::CallbackOperation;
use onc_rpc::auth::OpaqueAuth;
use onc_rpc::message::{AcceptStatus, Call, ReplyBody};
use onc_rpc::record::Record;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use xdr::{Reader, Writer};

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls sent.
    pub calls: u64,
    /// TCP payload sent, in bytes.
    pub sent_bytes: u64,
    /// TCP payload received, in bytes.
    pub received_bytes: u64,
}

/// What is called with each operation of the server's callbacks.
pub(crate) type Callback = Rc<dyn Fn(&CallbackOperation)>;

/// State shared by a connection and its driver.
pub(crate) struct Inner {
    pub(crate) server: String,
    limit: Duration,
    pub(crate) output: RefCell<Output>,
    pub(crate) more_output: Notify,
    /// Calls by transaction id.
    waiting: RefCell<BTreeMap<u32, oneshot::Sender<(ReplyBody, Reader)>>>,
    next_xid: Cell<u32>,
    lost: RefCell<Option<ClientError>>,
    counters: Cell<Counters>,
    callback: RefCell<Callback>,
}

/// A connection. Clones are the same connection; it is closed with the last of them.
#[derive(Clone)]
pub struct Connection {
    inner: Rc<Inner>,
    _driver: Rc<DriverTask>,
}

/// Task of the driver; aborted with the last [`Connection`].
struct DriverTask(JoinHandle<()>);

impl Drop for DriverTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Connects to `server`, a host and port. `limit`: time limit for connecting and for each call.
    /// Requires a `LocalSet` or a local runtime of tokio.
    pub async fn connect(server: &str, limit: Duration) -> Result<Self, ClientError> {
        Self::open(&Server::tcp(server), limit).await
    }

    /// Connects to a server, as [`Self::connect`] does.
    pub async fn open(server: &Server, limit: Duration) -> Result<Self, ClientError> {
        let failed = |reason: String| ClientError::Connect { server: server.name.to_string(), reason };
        let stream = match timeout(limit, server.open()).await {
            Ok(stream) => stream.map_err(|error| failed(error.to_string()))?,
            Err(_) => return Err(failed(format!("no answer within {} s", limit.as_secs_f64()))),
        };
        let mut seed = [0; 4];
        getrandom::fill(&mut seed).map_err(|error| failed(error.to_string()))?;
        let inner = Rc::new(Inner {
            server: server.name.to_string(),
            limit,
            output: RefCell::default(),
            more_output: Notify::new(),
            waiting: RefCell::default(),
            // A new connection from the same port must not repeat the numbers of the last one.
            next_xid: Cell::new(u32::from_be_bytes(seed)),
            lost: RefCell::default(),
            counters: Cell::default(),
            callback: RefCell::new(Rc::new(|_| {})),
        });
        let driver = tokio::task::spawn_local(driver::run(Rc::clone(&inner), stream));
        Ok(Self { inner, _driver: Rc::new(DriverTask(driver)) })
    }

    /// Traffic so far.
    pub fn counters(&self) -> Counters {
        self.inner.counters.get()
    }

    /// Fails if the connection is lost.
    pub fn check(&self) -> Result<(), ClientError> {
        self.inner.lost.borrow().clone().map_or(Ok(()), Err)
    }

    /// Has `callback` called with each operation of the server's callbacks, all of which succeed.
    pub fn on_callback(&self, callback: impl Fn(&CallbackOperation) + 'static) {
        self.call_back(Rc::new(callback));
    }

    pub(crate) fn call_back(&self, callback: Callback) {
        *self.inner.callback.borrow_mut() = callback;
    }

    /// Calls a procedure. `arguments` appends its arguments. Returns a reader of the results, which
    /// is strict about padding.
    pub async fn call(
        &self,
        (program, version, procedure): (u32, u32, u32),
        credential: &OpaqueAuth,
        arguments: impl FnOnce(&mut Writer),
    ) -> Result<Reader, ClientError> {
        self.check()?;
        let inner = &self.inner;
        let xid = inner.next_xid.get();
        inner.next_xid.set(xid.wrapping_add(1));
        let mut writer = Writer::default();
        let record = Record::start(&mut writer);
        let credential = credential.clone();
        Call { xid, program, version, procedure, credential, verifier: OpaqueAuth::none() }.encode(&mut writer);
        arguments(&mut writer);
        record.finish(&mut writer).map_err(|error| ClientError::Malformed(error.to_string()))?;
        let (sender, receiver) = oneshot::channel();
        inner.waiting.borrow_mut().insert(xid, sender);
        inner.send(writer);
        inner.count(|counters| counters.calls += 1);
        match timeout(inner.limit, receiver).await {
            Ok(Ok((ReplyBody::Accepted(accepted), reader))) if accepted.status == AcceptStatus::Success => Ok(reader),
            Ok(Ok((body, _))) => Err(ClientError::Rpc(body)),
            Ok(Err(_)) => Err(inner.reason()),
            Err(_) => {
                // A late reply would meet a slot that has been given to another call.
                inner.lose(ClientError::Timeout { server: inner.server.clone(), limit: inner.limit });
                Err(inner.reason())
            }
        }
    }
}

impl Inner {
    /// Sends what `writer` has.
    pub(crate) fn send(&self, writer: Writer) {
        self.output.borrow_mut().push(writer.into_chunks());
        self.more_output.notify_one();
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// Delivers a reply. False if no call waits for it.
    pub(crate) fn deliver(&self, xid: u32, body: ReplyBody, results: Bytes) -> bool {
        let Some(sender) = self.waiting.borrow_mut().remove(&xid) else { return false };
        // The caller may have been dropped.
        let _dropped = sender.send((body, Reader::strict(results)));
        true
    }

    pub(crate) fn called_back(&self, operation: &CallbackOperation) {
        let callback = Rc::clone(&self.callback.borrow());
        callback(operation);
    }

    /// Ends the connection: every call fails. The first reason counts.
    pub(crate) fn lose(&self, error: ClientError) {
        self.lost.borrow_mut().get_or_insert(error);
        self.waiting.borrow_mut().clear();
        self.more_output.notify_one();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.borrow().is_some()
    }

    fn reason(&self) -> ClientError {
        let lost = self.lost.borrow().clone();
        lost.unwrap_or_else(|| ClientError::Lost { server: self.server.clone(), reason: "the driver ended".into() })
    }
}
