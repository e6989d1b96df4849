//! Guest as a QEMU process, and the connection over which it runs our scripts.
//!
//! The guest's network is QEMU's user network: the host's loopback is 10.0.2.2 there, and nothing
//! else is reachable. The guest connects to one of our ports and runs the scripts that it receives,
//! one at a time (`guest/init`). KVM is used where it boots a kernel; elsewhere the processor is
//! emulated, which is reported, and takes about twenty times as long.

use super::image::Image;
use crate::qemu::{Accelerator, Hardware, network, open_kvm, path_option};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const KERNEL_PARAMETERS: &str = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr nowatchdog audit=0 apparmor=0 random.trust_cpu=on \
     cryptomgr.notests raid=noautodetect net.ifnames=0";
/// Time limit from the start of QEMU until the guest listens.
const BOOT_LIMIT: Duration = Duration::from_secs(240);
/// Boot time limit under KVM; if the guest is slower, KVM counts as unusable.
const PROBE_LIMIT: Duration = Duration::from_secs(25);
/// Time after a script's own limit until the guest counts as lost.
const GRACE: Duration = Duration::from_secs(30);

/// Settings of the guest.
pub(super) struct Rack<'a> {
    pub(super) image: &'a Image,
    /// Program that becomes `/run/xtask`.
    pub(super) tool: &'a Path,
    /// Archive of tar with further programs, which is unpacked in `/run/tools`.
    pub(super) archive: Option<&'a Path>,
    /// Memory of the guest in MiB.
    pub(super) memory_mib: u32,
    /// Directory for the console and QEMU's messages.
    pub(super) directory: &'a Path,
    /// Ports of 127.0.0.1, each with the port of the guest to which it is forwarded.
    pub(super) forwards: Vec<(u16, u16)>,
}

/// Output of a script, both streams in order of arrival, and its exit status.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Exit status; 124 when the time limit was reached.
    pub(super) status: i32,
    pub(super) text: String,
}

/// Running guest. Dropping it ends QEMU.
pub(super) struct Machine {
    process: Child,
    agent: TcpStream,
    console: PathBuf,
    scripts: u64,
    /// Whether the processor is emulated.
    pub(super) emulated: bool,
}

impl Rack<'_> {
    /// Boots the guest and waits until it listens.
    pub(super) fn boot(&self, accelerator: Accelerator) -> Result<Machine> {
        if accelerator == Accelerator::Tcg {
            return self.start(false, BOOT_LIMIT);
        }
        let booted = open_kvm().and_then(|()| self.start(true, PROBE_LIMIT));
        match booted {
            Err(error) if accelerator == Accelerator::Kvm => Err(error.context("KVM does not boot the guest here")),
            Err(error) => {
                let words = error.to_string();
                println!(
                    "  there is no KVM that boots the guest here ({}): the guest is emulated, which takes longer",
                    words.split(';').next().unwrap_or_default()
                );
                self.start(false, BOOT_LIMIT)
            }
            booted => booted,
        }
    }

    fn start(&self, kvm: bool, limit: Duration) -> Result<Machine> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        let hardware = Hardware { name: "windlass-vm", kvm, memory_mib: self.memory_mib };
        let tool_bytes = std::fs::metadata(self.tool)?.len();
        let modules = self.image.modules.join(",");
        let parameters = format!("{KERNEL_PARAMETERS} agent={port} tool_bytes={tool_bytes} guest_modules={modules}");
        let mut command = hardware.command((&self.image.kernel, &self.image.initramfs), &parameters)?;
        let console = self.directory.join("console.log");
        command.arg("-serial").arg(format!("file:{}", path_option(&console)?));
        network(&mut command, &self.forwards, false);
        let root = path_option(&self.image.root)?;
        command.args(["-drive", &format!("if=virtio,format=raw,snapshot=on,cache=unsafe,file={root}")]);
        for disk in [Some(self.tool), self.archive].into_iter().flatten() {
            let disk = path_option(disk)?;
            command.args(["-drive", &format!("if=virtio,format=raw,readonly=on,file={disk}")]);
        }
        command.args(["-device", "virtio-rng-pci"]);
        let words = File::options().create(true).append(true).open(self.directory.join("qemu.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
        let mut process = command.spawn().context("cannot start QEMU")?;
        let agent = match wait_for_agent(&listener, &mut process, limit) {
            Ok(agent) => agent,
            Err(error) => {
                // QEMU may have ended meanwhile.
                let _ended = process.kill().and_then(|()| process.wait());
                return Err(anyhow!("{error:#}; {}", end_of(&console)));
            }
        };
        let mut machine = Machine { process, agent, console, scripts: 0, emulated: !kvm };
        machine.read_until(b"up\n", limit).context("the guest does not say that it is up")?;
        Ok(machine)
    }
}

fn wait_for_agent(listener: &TcpListener, process: &mut Child, limit: Duration) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let started = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("cannot accept the guest's connection"),
        }
        if let Some(status) = process.try_wait()? {
            bail!("QEMU ended ({status})");
        }
        ensure!(started.elapsed() < limit, "the guest did not come up within {} s", limit.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The last lines of the console.
fn end_of(console: &Path) -> String {
    let text = std::fs::read(console).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(12)).map(|line| format!("    {line}\n"));
    format!("the guest's console ends:\n{}", last.collect::<String>())
}

impl Machine {
    /// Runs a script in the guest and waits for its end; the guest ends it after `limit`.
    pub(super) fn run(&mut self, script: &str, limit: Duration) -> Result<Output> {
        self.scripts += 1;
        let token = format!("windlass-script-{}-ended", self.scripts);
        let head = format!("{} {} {token}\n", limit.as_secs(), script.len());
        self.agent
            .write_all(head.as_bytes())
            .and_then(|()| self.agent.write_all(script.as_bytes()))
            .with_context(|| self.lost())?;
        let marker = format!("\n{token} ");
        let text = self.read_until(marker.as_bytes(), limit + GRACE)?;
        let status = self.read_until(b"\n", GRACE)?;
        let status = status.trim().parse().with_context(|| format!("the guest says the status {status:?}"))?;
        Ok(Output { status, text })
    }

    /// Reads up to `end`, and returns the text before it.
    fn read_until(&mut self, end: &[u8], limit: Duration) -> Result<String> {
        let started = Instant::now();
        self.agent.set_read_timeout(Some(Duration::from_millis(200)))?;
        let mut bytes = Vec::new();
        let mut byte = [0];
        // One byte at a time, so that nothing after the end is consumed; there is little to read.
        while !bytes.ends_with(end) {
            match self.agent.read(&mut byte) {
                Ok(0) => bail!("{}", self.lost()),
                Ok(_) => bytes.extend_from_slice(&byte),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
            ensure!(
                started.elapsed() < limit,
                "the guest did not answer within {} s; {}",
                limit.as_secs(),
                end_of(&self.console)
            );
        }
        bytes.truncate(bytes.len() - end.len());
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn lost(&self) -> String {
        format!("the connection to the guest is lost; {}", end_of(&self.console))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A process that cannot be killed is left.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn paths_with_commas_are_one_value() {
        assert_eq!(path_option(Path::new("/a,b/disk")).unwrap(), "/a,,b/disk");
    }
}
