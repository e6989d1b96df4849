//! Connections over TCP, with or without TLS. Of each, a bounded number of bytes is read.

use super::described;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Largest number of bytes that are read from a peer in one connection: answers and certificates.
const MAX_READ_BYTES: usize = 256 << 10;

/// Connection to a peer.
pub(super) trait Stream: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin> Stream for T {}

/// TCP connection from which at most a number of bytes is read. Further ones are an error: no reader above it can be
/// made to keep more, whatever it waits for.
#[derive(Debug)]
struct Bounded {
    stream: TcpStream,
    left: usize,
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len().saturating_sub(before);
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(io::Error::other("the peer sends more than an answer"))),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Connects to a peer. `tls`: the authorities to trust, those of the system if absent; without it there is no TLS.
pub(super) async fn connect(server: &str, port: u16, tls: Option<Option<&str>>) -> Result<Box<dyn Stream>, String> {
    let unreachable = |error: io::Error| format!("cannot connect to {server} port {port}: {}", described(&error));
    let stream = TcpStream::connect((server, port)).await.map_err(unreachable)?;
    let stream = Bounded { stream, left: MAX_READ_BYTES };
    let Some(ca) = tls else { return Ok(Box::new(stream)) };
    let name = ServerName::try_from(server.to_owned()).map_err(|_| format!("{server:?} is no name of a machine"))?;
    let config = config(ca).await?;
    let failed = |error: io::Error| format!("no TLS with {server} port {port}: {}", described(&error));
    Ok(Box::new(TlsConnector::from(config).connect(name, stream).await.map_err(failed)?))
}

/// TLS of a client that trusts these certificates, or those of the system.
async fn config(ca: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(ca) => {
            for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("ca: {error}"))?;
                roots.add(certificate).map_err(|error| format!("ca: {error}"))?;
            }
        }
        None => {
            // It reads files.
            let native = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
            let native = native.map_err(|_| "the certificates of the system cannot be read".to_owned())?;
            roots.add_parsable_certificates(native.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
