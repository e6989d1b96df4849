//! The switches of the host with the names that ESXi gives them, kept in a file of the user: `windlass/host.conf` in the directory for
//! configuration (`XDG_CONFIG_HOME`, else `~/.config`). A line is `/DataMover/HardwareAcceleratedMove = 0`; what is not there has its default.
//!
//! Names are taken with slashes and with dots, with and without the first slash, in any case.

use crate::error::DiskError;
use data_mover::Settings;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A switch.
#[derive(Debug)]
pub struct Setting {
    /// As ESXi names it.
    pub path: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Least value.
    pub min: u32,
    /// Highest value.
    pub max: u32,
    /// What it counts; empty for 0 and 1.
    pub unit: &'static str,
    get: fn(&Settings) -> u32,
    set: fn(&mut Settings, u32),
}

const fn switch(
    path: &'static str,
    description: &'static str,
    get: fn(&Settings) -> u32,
    set: fn(&mut Settings, u32),
) -> Setting {
    Setting { path, description, min: 0, max: 1, unit: "", get, set }
}

/// All switches.
pub const SETTINGS: [Setting; 4] = [
    switch(
        "/DataMover/HardwareAcceleratedInit",
        "Zero by WRITE SAME instead of writing zeros",
        |settings| settings.hardware_accelerated_init.into(),
        |settings, value| settings.hardware_accelerated_init = value != 0,
    ),
    switch(
        "/DataMover/HardwareAcceleratedMove",
        "Copy by EXTENDED COPY instead of reading and writing",
        |settings| settings.hardware_accelerated_move.into(),
        |settings, value| settings.hardware_accelerated_move = value != 0,
    ),
    Setting {
        path: "/DataMover/MaxHWTransferSize",
        description: "Most data of one EXTENDED COPY or WRITE SAME",
        min: 512,
        max: 262_144,
        unit: "KiB",
        get: |settings| settings.max_hardware_transfer_bytes >> 10,
        set: |settings, value| settings.max_hardware_transfer_bytes = value.saturating_mul(1024),
    },
    switch(
        "/VMFS3/HardwareAcceleratedLocking",
        "Lock by COMPARE AND WRITE instead of RESERVE and RELEASE",
        |settings| settings.hardware_accelerated_locking.into(),
        |settings, value| settings.hardware_accelerated_locking = value != 0,
    ),
];

impl Setting {
    /// By name.
    pub fn find(name: &str) -> Result<&'static Self, DiskError> {
        let plain = |name: &str| name.trim_start_matches('/').replace('.', "/").to_ascii_lowercase();
        let wanted = plain(name);
        let found = SETTINGS.iter().find(|setting| plain(setting.path) == wanted);
        found.ok_or_else(|| {
            let names: Vec<_> = SETTINGS.iter().map(|setting| setting.path).collect();
            DiskError::Usage(format!("there is no setting {name}; there are {}", names.join(", ")))
        })
    }

    /// Its value.
    pub fn value(&self, of: &Settings) -> u32 {
        (self.get)(of)
    }

    /// What it is when nobody sets it.
    pub fn default_value(&self) -> u32 {
        self.value(&Settings::default())
    }

    /// Changes it.
    pub fn change(&self, of: &mut Settings, value: u32) -> Result<(), DiskError> {
        if !(self.min..=self.max).contains(&value) {
            let words = format!("{} is {value}, and may be {} to {}", self.path, self.min, self.max);
            return Err(DiskError::Usage(words));
        }
        (self.set)(of, value);
        Ok(())
    }
}

/// Where the switches are kept.
pub fn file() -> Result<PathBuf, DiskError> {
    let directory = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = directory("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| directory("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| DiskError::Usage("neither XDG_CONFIG_HOME nor HOME is set".into()))?;
    Ok(base.join("windlass").join("host.conf"))
}

/// The switches of this user. Defaults when there is no file, or no place for one.
///
/// Errors: a line that is not understood is named, and nothing is guessed.
pub fn load() -> Result<Settings, DiskError> {
    match file() {
        Ok(path) => load_from(&path),
        Err(_) => Ok(Settings::default()),
    }
}

fn load_from(path: &Path) -> Result<Settings, DiskError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(DiskError::File { what: format!("cannot read {}", path.display()), error }),
    };
    let mut settings = Settings::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: &str| DiskError::Usage(format!("{}, line {number}: {why}", path.display()));
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("expected NAME = VALUE"))?;
        let value = value.trim().parse().map_err(|_| wrong("the value is not a number"))?;
        let changed = Setting::find(name.trim()).and_then(|setting| setting.change(&mut settings, value));
        changed.map_err(|error| wrong(&error.to_string()))?;
    }
    Ok(settings)
}

/// Keeps the switches; those that have their default are left out.
pub fn save(settings: &Settings) -> Result<PathBuf, DiskError> {
    let path = file()?;
    save_to(&path, settings)?;
    Ok(path)
}

fn save_to(path: &Path, settings: &Settings) -> Result<(), DiskError> {
    let failed = |error| DiskError::File { what: format!("cannot write {}", path.display()), error };
    let mut text = String::from("# Switches of windlass disk, datastore and lab; see  windlass disk settings list\n");
    for setting in &SETTINGS {
        if setting.value(settings) != setting.default_value() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{} = {}", setting.path, setting.value(settings));
        }
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    // As a whole or not at all.
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let written = std::fs::File::create(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(failed)
}

/// As `esxcli system settings advanced list` prints them.
pub fn esxcli(settings: &Settings) -> String {
    let mut out = String::new();
    for setting in &SETTINGS {
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "   Path: {}\n   Type: integer\n   Int Value: {}\n   Default Int Value: {}\n   Min Value: {}\n   Max Value: {}\n   String Value: \n   Default String Value: \n   Valid Characters: \n   Description: {}\n\n",
            setting.path,
            setting.value(settings),
            setting.default_value(),
            setting.min,
            setting.max,
            setting.description
        );
    }
    out
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_in_both_spellings() {
        for name in [
            "/DataMover/HardwareAcceleratedMove",
            "DataMover.HardwareAcceleratedMove",
            "datamover/hardwareacceleratedmove",
        ] {
            assert_eq!(Setting::find(name).unwrap().path, "/DataMover/HardwareAcceleratedMove");
        }
        assert!(Setting::find("/DataMover/Nothing").is_err());
        let mut settings = Settings::default();
        let size =
            Setting::find("MaxHWTransferSize").err().map(|_| Setting::find("DataMover.MaxHWTransferSize").unwrap());
        let size = size.unwrap();
        assert!(size.change(&mut settings, 511).is_err());
        size.change(&mut settings, 16_384).unwrap();
        assert_eq!(settings.max_hardware_transfer_bytes, 16 << 20);
    }

    #[test]
    fn what_was_set_is_there_the_next_time() {
        let directory = std::env::temp_dir().join(format!("windlass-settings-{}", std::process::id()));
        let path = directory.join("windlass/host.conf");
        assert_eq!(load_from(&path).unwrap(), Settings::default());
        save_to(&path, &Settings::off()).unwrap();
        assert_eq!(load_from(&path).unwrap(), Settings::off());
        std::fs::write(&path, "VMFS3.HardwareAcceleratedLocking = 0 # so\n").unwrap();
        assert!(!load_from(&path).unwrap().hardware_accelerated_locking);
        for bad in [
            "x = 1",
            "/DataMover/HardwareAcceleratedMove = 2",
            "/DataMover/HardwareAcceleratedMove",
            "DataMover.MaxHWTransferSize = much",
        ] {
            std::fs::write(&path, bad).unwrap();
            assert!(load_from(&path).unwrap_err().to_string().contains("line 1"), "{bad}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
