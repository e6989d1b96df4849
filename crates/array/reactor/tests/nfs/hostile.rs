//! Clients that send what no proper client sends.

use crate::kit::{Array, client, lock};
use nfs::v4::Stable;
use nfs_client::{Identity, Options, Session, Share};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// NULL of NFSv4 without a credential, as a record.
const NULL: [u8; 44] = {
    let mut record = [0; 44];
    let words: [u32; 11] = [0x8000_0028, 7, 0, 2, nfs::PROGRAM, 4, 0, 0, 0, 0, 0];
    let mut at = 0;
    while at < words.len() {
        let word = words[at].to_be_bytes();
        let mut byte = 0;
        while byte < 4 {
            record[4 * at + byte] = word[byte];
            byte += 1;
        }
        at += 1;
    }
    record
};
/// Length of the reply to it, with the header of its record.
const REPLY_BYTES: usize = 28;

fn connect(array: &Array) -> TcpStream {
    let stream = TcpStream::connect(array.nfs).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Whether the server has closed the connection, and what it has sent before.
fn rest_of(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => rest,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => rest,
        Err(error) => panic!("the connection is not closed: {error}"),
    }
}

fn null(stream: &mut TcpStream) {
    stream.write_all(&NULL).unwrap();
    let mut reply = [0; REPLY_BYTES];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..8], [0x80, 0, 0, 24, 0, 0, 0, 7]);
}

#[test]
fn a_stream_that_is_no_stream_of_calls_is_closed_after_the_replies() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let too_long = [0x80, 0x10, 0x10, 0x01];
    let too_short = [0x80, 0, 0, 4, 1, 2, 3, 4];
    let no_message = [0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 9];
    for bytes in [&too_long[..], &too_short, &no_message] {
        let mut stream = connect(&array);
        stream.write_all(&[&NULL[..], bytes].concat()).unwrap();
        assert_eq!(rest_of(stream).len(), REPLY_BYTES, "{bytes:?}");
    }
    null(&mut connect(&array));
    array.stop();
}

/// Fragments without end, and fragments without content, make no memory grow.
#[test]
fn a_record_of_too_many_fragments_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let mut stream = connect(&array);
    // The server may close while the rest is sent.
    let _sent = stream.write_all(&[0; 4 * 2000]);
    assert_eq!(rest_of(stream).len(), 0);
    array.stop();
}

#[test]
fn replies_leave_after_the_client_has_sent_its_last_call() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let mut stream = connect(&array);
    stream.write_all(&NULL.repeat(300)).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest_of(stream).len(), 300 * REPLY_BYTES);
    array.stop();
}

/// A client that reads nothing is held back, and delays no other.
#[test]
fn a_client_that_reads_nothing_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let mut silent = connect(&array);
    silent.set_nonblocking(true).unwrap();
    let calls = NULL.repeat(1000);
    let mut sent = 0;
    // Until the buffers of both sides and the queue of replies are full.
    let mut full = 0;
    while full < 20 {
        // From where the last write ended.
        match silent.write(&calls[sent % NULL.len()..]) {
            Ok(bytes) => (sent, full) = (sent + bytes, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                full += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        assert!(sent < 64 << 20, "the client is not held back");
    }
    client(async {
        array.create_share("vms").await;
        let server = array.nfs.to_string();
        let session = Session::connect(&server, &Identity::root("test", [1; 8]), Options::default()).await.unwrap();
        Share::find(&session, "vms").await.unwrap();
    });
    drop(silent);
    array.stop();
}

/// Silent connections make room for new ones.
#[test]
fn a_flood_of_connections_does_not_lock_out_a_client() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let mut flood = Vec::new();
    for _ in 0..1100 {
        match TcpStream::connect(array.nfs) {
            Ok(stream) => flood.push(stream),
            // Descriptors of the test are used up.
            Err(_) => break,
        }
    }
    assert!(flood.len() > 400, "{}", flood.len());
    // Descriptors of the server, which are in this process.
    flood.truncate(flood.len() - 50);
    null(&mut connect(&array));
    array.stop();
}

/// An array did not stop for half a minute while hosts had its shares mounted.
#[test]
fn a_stop_waits_for_no_client() {
    let directory = tempfile::tempdir().unwrap();
    let array = Array::start(directory.path());
    let mut unread = connect(&array);
    unread.set_nonblocking(true).unwrap();
    let calls = NULL.repeat(1000);
    loop {
        match unread.write(&calls) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut partial = connect(&array);
    partial.write_all(&NULL[..20]).unwrap();
    client(async {
        array.create_share("vms").await;
        let identity = Identity::root("test", [1; 8]);
        let session = Session::connect(&array.nfs.to_string(), &identity, Options::default()).await.unwrap();
        let share = Share::find(&session, "vms").await.unwrap();
        let file = share.create_file(share.root(), "disk").await.unwrap();
        lock(&share, &file, b"owner", 0, 10).await;
        let write = share.write(&file, 0, vec![1; 256 << 10].into(), Stable::Unstable);
        // The call is sent. Its reply stays unread, because the client's only thread waits for the stop below.
        let _late = tokio::time::timeout(Duration::from_millis(1), write).await;
        let begun = Instant::now();
        array.stop();
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    });
    drop((unread, partial));
}
