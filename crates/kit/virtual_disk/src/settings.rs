//! Switches of the host with ESXi's names, stored in a file of the user: `windlass/host.conf` in
//! the directory for configuration (`XDG_CONFIG_HOME`, else `~/.config`). A line is
//! `/DataMover/HardwareAcceleratedMove = 0`; a missing switch has its default.
//!
//! Names are accepted with slashes or dots, with or without the first slash, in any case.

use crate::error::DiskError;
use data_mover::Settings;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A switch.
#[derive(Debug)]
pub struct Setting {
    /// Name as in ESXi.
    pub path: &'static str,
    /// Effect of the switch.
    pub description: &'static str,
    /// Lowest value.
    pub min: u32,
    /// Highest value.
    pub max: u32,
    /// Unit of the value; empty for 0 and 1.
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
        description: "Maximum data of one EXTENDED COPY or WRITE SAME",
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
    /// Finds a switch by name.
    pub fn find(name: &str) -> Result<&'static Self, DiskError> {
        let plain = |name: &str| name.trim_start_matches('/').replace('.', "/").to_ascii_lowercase();
        let wanted = plain(name);
        let found = SETTINGS.iter().find(|setting| plain(setting.path) == wanted);
        found.ok_or_else(|| {
            let names: Vec<_> = SETTINGS.iter().map(|setting| setting.path).collect();
            DiskError::Usage(format!("there is no setting {name}; there are {}", names.join(", ")))
        })
    }

    /// Value of the switch in these settings.
    pub fn value(&self, of: &Settings) -> u32 {
        (self.get)(of)
    }

    /// Default value.
    pub fn default_value(&self) -> u32 {
        self.value(&Settings::default())
    }

    /// Sets the value. Errors: [`DiskError::Usage`] outside of `min` to `max`.
    pub fn change(&self, of: &mut Settings, value: u32) -> Result<(), DiskError> {
        if !(self.min..=self.max).contains(&value) {
            let words = format!("{} is {value}, and may be {} to {}", self.path, self.min, self.max);
            return Err(DiskError::Usage(words));
        }
        (self.set)(of, value);
        Ok(())
    }
}

/// Path of the file with the switches.
pub fn file() -> Result<PathBuf, DiskError> {
    let directory = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = directory("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| directory("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| DiskError::Usage("neither XDG_CONFIG_HOME nor HOME is set".into()))?;
    Ok(base.join("windlass").join("host.conf"))
}

/// Reads the switches of this user. Returns the defaults when there is no file, or no place for
/// one.
///
/// Errors: the first invalid line is named; nothing is guessed.
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

/// Writes the switches; those with their default value are left out.
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
    // Written atomically: a new file, then a rename.
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let written = std::fs::File::create(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(failed)
}

/// Prints the switches like `esxcli system settings advanced list`.
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
    fn names_are_accepted_in_both_spellings() {
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
    fn a_saved_setting_is_loaded_again() {
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
