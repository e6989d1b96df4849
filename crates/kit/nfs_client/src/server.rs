//! A server by name, and how connections to it are opened.

use futures_util::future::LocalBoxFuture;
use std::io;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The two directions of a byte stream to a server.
pub struct Stream {
    pub(crate) reader: Box<dyn AsyncRead + Unpin>,
    pub(crate) writer: Box<dyn AsyncWrite + Unpin>,
}

impl Stream {
    /// A stream that reads from one and writes to the other.
    pub fn new(reader: impl AsyncRead + Unpin + 'static, writer: impl AsyncWrite + Unpin + 'static) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

/// A server. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) name: Rc<str>,
    open: Rc<dyn Fn() -> LocalBoxFuture<'static, io::Result<Stream>>>,
}

impl Server {
    /// A server at a host and port.
    pub fn tcp(address: &str) -> Self {
        let host_and_port = address.to_owned();
        Self::by(address, move || {
            let address = host_and_port.clone();
            Box::pin(async move {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let (reader, writer) = stream.into_split();
                Ok(Stream::new(reader, writer))
            })
        })
    }

    /// A server whose connections `open` opens. `name`: for errors.
    pub fn by(name: &str, open: impl Fn() -> LocalBoxFuture<'static, io::Result<Stream>> + 'static) -> Self {
        Self { name: name.into(), open: Rc::new(open) }
    }

    pub(crate) async fn open(&self) -> io::Result<Stream> {
        (self.open)().await
    }
}
