//! `nfs_memory ADDRESS:PORT`: serves the shares of [`MemoryServer`], for clients such as Linux, until it is
//! ended.
#![forbid(unsafe_code)]

use nfs_memory::MemoryServer;
use std::io;
use tokio::net::TcpListener;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:12049".into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(&address).await?;
        let port = listener.local_addr()?.port();
        println!("serving at {}", listener.local_addr()?);
        MemoryServer::new(port)?.serve(listener).await
    })
}
