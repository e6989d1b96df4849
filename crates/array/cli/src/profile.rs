//! Arrays that `windlass login` keeps: address, token and certificate, in
//! `~/.config/windlass/profiles.json`, for their owner alone.

use crate::error::CliError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the profile that is used without `--profile`.
pub(crate) const DEFAULT: &str = "default";

/// One array.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profile {
    /// `https://HOST:PORT`.
    pub(crate) server: String,
    /// Token.
    pub(crate) token: String,
    /// SHA-256 of its certificate, hexadecimal.
    pub(crate) certificate: String,
}

/// All profiles, by name.
type Profiles = BTreeMap<String, Profile>;

/// Path of the file; absent without a home directory.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(directory.join("windlass/profiles.json"))
}

fn read(path: &Path) -> Result<Profiles, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Profiles::new()),
        Err(error) => return Err(CliError::failed(format!("cannot read {}: {error}", path.display()))),
    };
    serde_json::from_str(&text).map_err(|error| CliError::failed(format!("{}: {error}", path.display())))
}

/// The profile of this name; the default one may be absent.
pub(crate) fn find(name: Option<&str>) -> Result<Option<Profile>, CliError> {
    let profiles = path().map_or_else(|| Ok(Profiles::new()), |path| read(&path))?;
    let found = profiles.get(name.unwrap_or(DEFAULT)).cloned();
    match (name, &found) {
        (Some(name), None) => {
            let help = format!("sign in with  windlass login https://HOST:PORT --profile {name}");
            Err(CliError::not_found(format!("there is no profile {name}"), &help))
        }
        _ => Ok(found),
    }
}

/// Keeps a profile. Returns the path of the file.
pub(crate) fn keep(name: &str, profile: Profile) -> Result<PathBuf, CliError> {
    let path = path().ok_or_else(|| CliError::failed("neither HOME nor XDG_CONFIG_HOME is set".to_owned()))?;
    keep_at(&path, name, profile)?;
    Ok(path)
}

fn keep_at(path: &Path, name: &str, profile: Profile) -> Result<(), CliError> {
    let mut profiles = read(path)?;
    profiles.insert(name.to_owned(), profile);
    let text = serde_json::to_string_pretty(&profiles).map_err(|error| CliError::failed(error.to_string()))?;
    let partial = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn profiles_are_kept_for_their_owner() {
        let directory = std::env::temp_dir().join(format!("windlass-profile-{}", std::process::id()));
        let path = directory.join("windlass/profiles.json");
        let profile = |token: &str| Profile {
            server: "https://a".to_owned(),
            token: token.to_owned(),
            certificate: String::new(),
        };
        keep_at(&path, "a", profile("1")).unwrap();
        keep_at(&path, "b", profile("2")).unwrap();
        keep_at(&path, "a", profile("3")).unwrap();
        let profiles = read(&path).unwrap();
        assert_eq!((profiles["a"].token.as_str(), profiles["b"].token.as_str()), ("3", "2"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "{").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
