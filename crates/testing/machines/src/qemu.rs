//! QEMU as all guests start it: without devices that no guest uses, and killed with this process.

use anyhow::{Context, Result};
use array_process::program;
use clap::ValueEnum;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Virtualisation of a guest's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Accelerator {
    /// KVM if it boots the guest, else TCG.
    Auto,
    /// The processor of this machine; an error where that does not work.
    Kvm,
    /// Emulation.
    Tcg,
}

impl Accelerator {
    /// Description for the report.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kvm => "KVM",
            Self::Tcg => "emulated: there is no KVM that boots it",
        }
    }
}

/// Processor and memory of a guest.
pub(crate) struct Hardware {
    pub(crate) name: &'static str,
    /// Whether KVM runs the guest; else it is emulated.
    pub(crate) kvm: bool,
    pub(crate) memory_mib: u32,
}

impl Hardware {
    /// Command that starts QEMU with a kernel, its first root file system and its parameters, in
    /// a process group of its own.
    pub(crate) fn command(&self, (kernel, initramfs): (&Path, &Path), parameters: &str) -> Result<Command> {
        let qemu = program::find("qemu-system-x86_64").context("qemu-system-x86_64 is not installed")?;
        // The kernel kills QEMU when this process is killed and cannot do so itself.
        let guard = program::find("setpriv").context("setpriv is not installed; it is in the package util-linux")?;
        let mut command = Command::new(guard);
        command.args(["--pdeathsig", "KILL", "--"]).arg(qemu);
        let (accelerator, processor) = match self.kvm {
            // Nested hypervisors refuse the MSR of this bit.
            true => ("kvm", "host,-arch-capabilities"),
            false => ("tcg,thread=multi", "max,la57=off"),
        };
        command.args(["-name", self.name, "-accel", accelerator, "-cpu", processor]);
        command.args(["-machine", "q35,usb=off,smbus=off,sata=off", "-smp", "2", "-m", &self.memory_mib.to_string()]);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"]);
        command.arg("-kernel").arg(kernel).arg("-initrd").arg(initramfs).args(["-append", parameters]);
        command.process_group(0);
        Ok(command)
    }
}

/// Adds QEMU's user network. `forwards` are ports of 127.0.0.1, each with the port of the guest to
/// which it is forwarded; a `closed` network lets the guest reach nothing else.
pub(crate) fn network(command: &mut Command, forwards: &[(u16, u16)], closed: bool) {
    let forwards = forwards.iter().map(|(host, guest)| format!(",hostfwd=tcp:127.0.0.1:{host}-:{guest}"));
    let restrict = if closed { ",restrict=on" } else { "" };
    let network = format!("user,id=network,ipv6=off{restrict}{}", forwards.collect::<String>());
    command.args(["-netdev", &network, "-device", "virtio-net-pci,netdev=network,romfile="]);
}

/// Formats a path as the value of an option of QEMU, where commas are doubled.
pub(crate) fn path_option(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.replace(',', ",,"))
}

/// Whether this process may use KVM. That it boots a guest is another question.
///
/// # Errors
///
/// `/dev/kvm` cannot be opened.
pub(crate) fn open_kvm() -> Result<()> {
    File::options().read(true).write(true).open("/dev/kvm").context("cannot open /dev/kvm").map(drop)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_path_keeps_its_commas() {
        assert_eq!(path_option(Path::new("/a,b/c")).unwrap(), "/a,,b/c");
    }

    #[test]
    fn a_closed_network_is_restricted_and_forwards_ports() {
        let mut command = Command::new("qemu");
        network(&mut command, &[(4000, 3260), (4001, 9080)], true);
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_str().unwrap()).collect();
        let network =
            "user,id=network,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:4000-:3260,hostfwd=tcp:127.0.0.1:4001-:9080";
        assert_eq!(arguments, ["-netdev", network, "-device", "virtio-net-pci,netdev=network,romfile="]);
    }
}
