//! Wire format of the NBD protocol: handshake, requests, simple replies (NetworkBlockDevice,
//! `doc/proto.md`). All numbers are big-endian.

use crate::power_cut::volatile_disk::SECTOR_BYTES;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// "NBDMAGIC" and "IHAVEOPT".
const MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
/// NBD_FLAG_FIXED_NEWSTYLE and NBD_FLAG_NO_ZEROES.
const HANDSHAKE_FLAGS: u16 = 1 | 2;
/// NBD_FLAG_C_NO_ZEROES.
const CLIENT_NO_ZEROES: u32 = 2;
/// NBD_FLAG_HAS_FLAGS, NBD_FLAG_SEND_FLUSH, NBD_FLAG_SEND_FUA, NBD_FLAG_SEND_TRIM.
const TRANSMISSION_FLAGS: u16 = 1 | 4 | 8 | 32;
/// NBD_CMD_FLAG_FUA.
const FORCE_UNIT_ACCESS: u16 = 1;

const OPTION_EXPORT_NAME: u32 = 1;
const OPTION_ABORT: u32 = 2;
const OPTION_INFO: u32 = 6;
const OPTION_GO: u32 = 7;
const REPLY_ACK: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_UNSUPPORTED: u32 = 0x8000_0001;
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// Longest data of an option.
const MAX_OPTION_BYTES: u32 = 8192;
/// Longest READ or WRITE, announced to the client.
const MAX_PAYLOAD_BYTES: u32 = 2 << 20;
/// Most options before the transmission phase.
const MAX_OPTIONS: usize = 32;

/// Request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Returned in the reply.
    pub(super) cookie: u64,
    pub(super) command: Command,
}

/// Command of a request; offsets and lengths in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Read {
        offset: u64,
        length: u32,
    },
    Write {
        offset: u64,
        data: Vec<u8>,
        durable: bool,
    },
    Discard {
        offset: u64,
        length: u32,
        durable: bool,
    },
    Flush,
    Disconnect,
    /// Unsupported command, to be refused.
    Unknown,
}

impl Request {
    /// Reads the next request. At the end of the stream the error is `UnexpectedEof`.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Self> {
        if read_u32(stream)? != REQUEST_MAGIC {
            return Err(broken("a request has the wrong magic number"));
        }
        let flags = read_u16(stream)?;
        let kind = read_u16(stream)?;
        let cookie = read_u64(stream)?;
        let offset = read_u64(stream)?;
        let length = read_u32(stream)?;
        let durable = flags & FORCE_UNIT_ACCESS != 0;
        let command = match kind {
            0 | 1 if length > MAX_PAYLOAD_BYTES => return Err(broken("a request is longer than the client was told")),
            0 => Command::Read { offset, length },
            1 => Command::Write { offset, data: read_bytes(stream, length)?, durable },
            2 => Command::Disconnect,
            3 => Command::Flush,
            4 => Command::Discard { offset, length, durable },
            _ => Command::Unknown,
        };
        Ok(Self { cookie, command })
    }
}

/// Encodes a simple reply with its data.
pub(super) fn reply(cookie: u64, error: u32, data: &[u8]) -> Vec<u8> {
    [&REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes(), data].concat()
}

/// Executes the handshake; false when the client ended it.
pub(super) fn handshake(stream: &UnixStream, size_bytes: u64) -> io::Result<bool> {
    let mut stream = stream;
    stream
        .write_all(&[&MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &HANDSHAKE_FLAGS.to_be_bytes()].concat())?;
    let client_flags = read_u32(&mut stream)?;
    let export = [&size_bytes.to_be_bytes()[..], &TRANSMISSION_FLAGS.to_be_bytes()].concat();
    for _ in 0..MAX_OPTIONS {
        if read_u64(&mut stream)? != OPTION_MAGIC {
            return Err(broken("an option has the wrong magic number"));
        }
        let option = read_u32(&mut stream)?;
        let length = read_u32(&mut stream)?;
        if length > MAX_OPTION_BYTES {
            return Err(broken("an option is too long"));
        }
        let _names = read_bytes(&mut stream, length)?;
        match option {
            OPTION_EXPORT_NAME => {
                stream.write_all(&export)?;
                if client_flags & CLIENT_NO_ZEROES == 0 {
                    stream.write_all(&[0; 124])?;
                }
                return Ok(true);
            }
            OPTION_INFO | OPTION_GO => {
                let information = [&INFO_EXPORT.to_be_bytes()[..], &export].concat();
                stream.write_all(&option_reply(option, REPLY_INFO, &information))?;
                let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
                // Minimum, preferred and maximum block size; the minimum is a sector.
                for size in [u32::try_from(SECTOR_BYTES).unwrap_or(u32::MAX), 4096, MAX_PAYLOAD_BYTES] {
                    sizes.extend_from_slice(&size.to_be_bytes());
                }
                stream.write_all(&option_reply(option, REPLY_INFO, &sizes))?;
                stream.write_all(&option_reply(option, REPLY_ACK, &[]))?;
                if option == OPTION_GO {
                    return Ok(true);
                }
            }
            OPTION_ABORT => {
                stream.write_all(&option_reply(option, REPLY_ACK, &[]))?;
                return Ok(false);
            }
            _ => stream.write_all(&option_reply(option, REPLY_UNSUPPORTED, &[]))?,
        }
    }
    Err(broken("the handshake does not come to an end"))
}

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let head = [option.to_be_bytes(), kind.to_be_bytes(), length.to_be_bytes()].concat();
    [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &head, data].concat()
}

fn broken(words: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

fn read_u16(stream: &mut impl Read) -> io::Result<u16> {
    read_array(stream).map(u16::from_be_bytes)
}

fn read_u32(stream: &mut impl Read) -> io::Result<u32> {
    read_array(stream).map(u32::from_be_bytes)
}

fn read_u64(stream: &mut impl Read) -> io::Result<u64> {
    read_array(stream).map(u64::from_be_bytes)
}

fn read_array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads `length` bytes, which the caller has bounded.
fn read_bytes(stream: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| broken("too long"))?];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
