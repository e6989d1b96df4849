//! The floor: the least that a server with one thread pays for the answers of a target over the
//! kernel's TCP. It reads what is there, and answers all of it with as few calls as possible, from a
//! buffer in memory that it indexes by the address. It knows no login, and only commands whose data
//! is in one PDU.

use crate::session::FullFeature;
use crate::targets::OwnProcess;
use anyhow::{Context, Result, ensure};
use iscsi::parameters::Parameters;
use iscsi::pdu::{self, DataIn, FINAL, HEADER_BYTES, Opcode, ScsiCommand, ScsiResponse, U24};
use random::sector;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

/// Bytes behind the server.
pub(crate) const FLOOR_BYTES: u64 = 1 << 30;
/// Size of the receive buffer.
const RECEIVE_BYTES: usize = 256 << 10;
/// Answers in one call.
const ANSWERS: usize = 64;

/// Running floor server.
pub(crate) struct Floor {
    process: OwnProcess,
    address: SocketAddr,
}

impl Floor {
    /// Starts this program once more, as the server.
    pub(crate) fn start() -> Result<Self> {
        let program = std::env::current_exe()?;
        let mut process = Command::new(program)
            .args(["bench", "--serve-floor"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the floor server")?;
        let output = process.stdout.take().context("the floor server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().context("the floor server says no address")?;
        Ok(Self { process: OwnProcess(process), address })
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// A new connection; the server needs no login.
    pub(crate) fn session(&self) -> Result<FullFeature> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let mut parameters = Parameters::default();
        parameters.immediate_data = true;
        parameters.first_burst_length = u32::MAX >> 8;
        parameters.target_max_recv_data_segment_length = u32::MAX >> 8;
        Ok(FullFeature { stream, lun: [0; 8], parameters, cmd_sn: 1, max_cmd_sn: u32::MAX >> 1, exp_stat_sn: 1 })
    }
}

/// Serves one connection after the other until the process is ended; prints its address.
pub(crate) fn serve() -> Result<()> {
    let memory = sector::stamped(0, 0, FLOOR_BYTES, 0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        stream.set_nodelay(true)?;
        // The client ends a load by closing its connection.
        let _closed = answer(&mut stream, &memory);
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, memory: &[u8]) -> Result<()> {
    let mut received = vec![0; RECEIVE_BYTES];
    let mut filled = 0;
    loop {
        let read = stream.read(&mut received[filled..])?;
        ensure!(read > 0, "closed");
        filled += read;
        let mut used = 0;
        while let Some((command, length)) = whole_command(&received[used..filled]) {
            let mut answers = Vec::with_capacity(ANSWERS);
            let mut next = Some((command, length));
            while let Some((command, length)) = next {
                used += length;
                answers.push(answer_to(&command, memory)?);
                next = if answers.len() < ANSWERS { whole_command(&received[used..filled]) } else { None };
            }
            let mut slices: Vec<IoSlice<'_>> = Vec::with_capacity(2 * ANSWERS);
            for (header, data) in &answers {
                slices.push(IoSlice::new(header));
                slices.push(IoSlice::new(data));
            }
            let mut left = slices.as_mut_slice();
            while !left.is_empty() {
                let sent = stream.write_vectored(left)?;
                IoSlice::advance_slices(&mut left, sent);
            }
        }
        received.copy_within(used..filled, 0);
        filled -= used;
    }
}

/// Next command and its length with its data, if all of it is there.
fn whole_command(input: &[u8]) -> Option<(ScsiCommand, usize)> {
    let command = ScsiCommand::from_wire(input.first_chunk::<HEADER_BYTES>()?);
    let length = HEADER_BYTES + command.data_segment_length.get() as usize;
    (input.len() >= length).then_some((command, length))
}

/// Header and data of the answer.
fn answer_to<'a>(command: &ScsiCommand, memory: &'a [u8]) -> Result<(pdu::RawHeader, &'a [u8])> {
    let tag = command.initiator_task_tag.get();
    if command.flags & pdu::WRITE != 0 {
        let mut header = ScsiResponse::from_wire(&pdu::blank(Opcode::SCSI_RESPONSE.0, FINAL, tag));
        header.max_cmd_sn = (u32::MAX >> 1).into();
        return Ok((header.to_wire(), &[]));
    }
    let length = command.expected_data_transfer_length.get();
    let (_, lba) = command.cdb.split_at(2);
    let lba = u64::from_be_bytes(*lba.first_chunk().context("a short CDB")?);
    let start = (lba * sector::SECTOR_BYTES as u64) as usize;
    let data = memory.get(start..start + length as usize).context("an address behind the end")?;
    let mut header = DataIn::from_wire(&pdu::blank(Opcode::DATA_IN.0, FINAL | pdu::STATUS, tag));
    header.data_segment_length = U24::new(length);
    header.max_cmd_sn = (u32::MAX >> 1).into();
    Ok((header.to_wire(), data))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::data::BLOCK_BYTES;
    use crate::light::{self, Shape};
    use std::time::Duration;

    #[test]
    fn the_light_client_checks_what_it_reads() {
        let block = BLOCK_BYTES as usize;
        for (shift, passes) in [(0, true), (block, false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || {
                let memory = sector::stamped(0, 0, 64 * BLOCK_BYTES, 0);
                let (mut stream, _) = listener.accept().unwrap();
                let _closed = answer(&mut stream, &memory[shift..]);
            });
            let shape = Shape {
                writes_percent: 30,
                length_bytes: BLOCK_BYTES as u32,
                depth: 8,
                sequential: false,
                span: 0..32 * BLOCK_BYTES,
                places: None,
                holes: false,
            };
            let floor = Floor { process: OwnProcess(Command::new("true").spawn().unwrap()), address };
            let sessions = vec![floor.session().unwrap()];
            let load = light::run(sessions, std::process::id(), &shape, Duration::from_millis(50), 1);
            assert_eq!(load.as_ref().is_ok_and(|load| load.operations > 0), passes, "{load:?}");
        }
    }
}
