#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use std::fs::File;
use std::io::Read;
use tempfile::TempDir;

fn server() -> (TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk");
    File::create(&path).unwrap().set_len(1 << 20).unwrap();
    let disk = VolatileDisk::open(&path, 1, false).unwrap();
    let server = Server::start(&directory.path().join("socket"), disk).unwrap();
    (directory, server)
}

fn take(stream: &mut UnixStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Connects and sends client flags and one option.
fn connect(server: &Server, option: u32, data: &[u8]) -> UnixStream {
    let mut stream = UnixStream::connect(&server.path).unwrap();
    assert_eq!(take(&mut stream, 18), b"NBDMAGICIHAVEOPT\0\x03");
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    send_option(&mut stream, option, data);
    stream
}

fn send_option(stream: &mut UnixStream, option: u32, data: &[u8]) {
    stream.write_all(b"IHAVEOPT").unwrap();
    stream.write_all(&option.to_be_bytes()).unwrap();
    stream.write_all(&u32::try_from(data.len()).unwrap().to_be_bytes()).unwrap();
    stream.write_all(data).unwrap();
}

fn request(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let numbers = [cookie.to_be_bytes(), offset.to_be_bytes()].concat();
    [&0x2560_9513u32.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes(), &numbers, &length.to_be_bytes()]
        .concat()
}

/// Cookie and error of the next reply.
fn answered(stream: &mut UnixStream) -> (u64, u32) {
    let bytes = take(stream, 16);
    assert_eq!(bytes[..4], 0x6744_6698u32.to_be_bytes());
    (u64::from_be_bytes(bytes[8..].try_into().unwrap()), u32::from_be_bytes(bytes[4..8].try_into().unwrap()))
}

#[test]
fn the_old_handshake_then_writes_are_read_back_and_flushed_ones_survive() {
    let (_directory, server) = server();
    let mut stream = connect(&server, 1, b"disk");
    assert_eq!(take(&mut stream, 10), [&(1u64 << 20).to_be_bytes()[..], &[0, 45]].concat());
    stream.write_all(&[request(0, 1, 7, 4096, 512), vec![9; 512]].concat()).unwrap();
    assert_eq!(answered(&mut stream), (7, 0));
    stream.write_all(&request(0, 0, 8, 3584, 1024)).unwrap();
    assert_eq!(answered(&mut stream), (8, 0));
    assert_eq!(take(&mut stream, 1024), [[0; 512], [9; 512]].concat());
    stream.write_all(&request(0, 3, 9, 0, 0)).unwrap();
    assert_eq!(answered(&mut stream), (9, 0));
    drop(stream);
    server.cut(Duration::from_secs(10)).unwrap();
    let mut content = vec![0; 512];
    server.disk().read(4096, &mut content).unwrap();
    assert_eq!(content, [9; 512]);
}

#[test]
fn the_new_handshake_refuses_unknown_options_and_reports_size_and_limits() {
    let (_directory, server) = server();
    let mut stream = connect(&server, 8, b"");
    let refused = take(&mut stream, 20);
    assert_eq!(refused[8..], [8u32.to_be_bytes(), 0x8000_0001u32.to_be_bytes(), [0; 4]].concat());
    send_option(&mut stream, 7, b"\0\0\0\x04disk\0\0");
    let export = take(&mut stream, 20 + 12);
    assert_eq!(export[20..], [&[0, 0][..], &(1u64 << 20).to_be_bytes(), &[0, 45]].concat());
    let sizes = take(&mut stream, 20 + 14);
    assert_eq!(sizes[22..26], 512u32.to_be_bytes());
    assert_eq!(take(&mut stream, 20)[12..16], 1u32.to_be_bytes());
    // A command that is not supported, one beyond the end, and one that is not aligned; then the
    // end.
    for (kind, offset) in [(6, 0), (0, 1 << 20), (4, 100)] {
        stream.write_all(&request(0, kind, 5, offset, 512)).unwrap();
        assert_eq!(answered(&mut stream), (5, EINVAL), "{kind}");
    }
    stream.write_all(&request(0, 2, 0, 0, 0)).unwrap();
    // The server closes the connection; unread data makes that a reset.
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    server.cut(Duration::from_secs(10)).unwrap();
}

#[test]
fn queued_writes_all_complete_and_force_unit_access_is_durable() {
    let (_directory, server) = server();
    let mut stream = connect(&server, 1, b"");
    take(&mut stream, 10);
    for number in 0..100u64 {
        stream.write_all(&[request(0, 1, number, number * 512, 512), vec![3; 512]].concat()).unwrap();
    }
    stream.write_all(&[request(1, 1, 100, 512 * 500, 512), vec![4; 512]].concat()).unwrap();
    let mut cookies: Vec<_> = (0..101).map(|_| answered(&mut stream).0).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, (0..101).collect::<Vec<_>>());
    drop(stream);
    server.cut(Duration::from_secs(10)).unwrap();
    let mut content = vec![0; 512];
    server.disk().read(512 * 500, &mut content).unwrap();
    assert_eq!(content, [4; 512]);
}

#[test]
fn a_client_that_speaks_nonsense_is_reported() {
    let (_directory, server) = server();
    let mut stream = connect(&server, 1, b"");
    take(&mut stream, 10);
    stream.write_all(&[0xFF; 28]).unwrap();
    // The server closes the connection; unread data makes that a reset.
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    let error = server.cut(Duration::from_secs(10)).unwrap_err();
    assert!(error.to_string().contains("magic"), "{error}");
}

#[test]
fn a_disk_that_stops_takes_nothing_more_and_the_next_connection_works() {
    let (_directory, server) = server();
    let mut stream = connect(&server, 1, b"");
    take(&mut stream, 10);
    server.stop(Duration::ZERO);
    for number in 0..32u64 {
        stream.write_all(&[request(0, 1, number, number * 512, 512), vec![3; 512]].concat()).unwrap();
    }
    stream.write_all(&request(0, 3, 99, 0, 0)).unwrap();
    server.stop(Duration::from_secs(10));
    assert!(server.state.stopped.load(Ordering::Acquire));
    drop(stream);
    server.cut(Duration::from_secs(10)).unwrap();
    let mut content = vec![0; 512];
    server.disk().read(31 * 512, &mut content).unwrap();
    assert_eq!(content, [0; 512], "what came after the end was not taken");
    let mut stream = connect(&server, 1, b"");
    take(&mut stream, 10);
    stream.write_all(&[request(0, 1, 1, 0, 512), vec![5; 512]].concat()).unwrap();
    assert_eq!(answered(&mut stream), (1, 0));
}
