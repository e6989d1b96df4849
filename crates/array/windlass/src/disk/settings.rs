//! `windlass disk settings`: the host's switches, as ESXi names them.

use crate::host_kit;
use cli::{Format, Globals};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use virtual_disk::DiskError;
use virtual_disk::settings::{self, SETTINGS, Setting};

/// Settings of this host, with the names that ESXi uses: which work is offloaded
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  windlass disk settings list\n  windlass disk settings set /DataMover/HardwareAcceleratedMove 0"
)]
pub(super) enum Verb {
    /// List the settings
    #[command(after_help = "Examples:\n  windlass disk settings list\n  windlass disk settings list -o esxcli")]
    List,
    /// Change a setting of disk, datastore and lab; it stays until the next change
    #[command(
        after_help = "Examples:\n  windlass disk settings set /DataMover/HardwareAcceleratedMove 0\n  windlass disk settings set VMFS3.HardwareAcceleratedLocking --default"
    )]
    Set {
        /// Name of the setting, with slashes or dots
        name: String,
        /// New value
        #[arg(required_unless_present = "default")]
        value: Option<u32>,
        /// Restore the default
        #[arg(long, conflicts_with = "value")]
        default: bool,
    },
}

/// Runs `windlass disk settings …`.
pub(super) fn run(verb: &Verb, globals: &Globals) -> ExitCode {
    match text(verb, globals) {
        Ok(text) => crate::print(&text),
        Err(error) => host_kit::fail(&error),
    }
}

fn text(verb: &Verb, globals: &Globals) -> Result<String, DiskError> {
    let mut current = settings::load()?;
    match verb {
        Verb::List => Ok(match globals.output {
            Format::Esxcli => settings::esxcli(&current),
            Format::Json | Format::Yaml => {
                let all = SETTINGS.iter().map(|setting| {
                    json!({
                        "path": setting.path,
                        "value": setting.value(&current),
                        "default": setting.default_value(),
                        "min": setting.min,
                        "max": setting.max,
                        "unit": setting.unit,
                        "description": setting.description,
                    })
                });
                crate::document(globals.output, &all.collect::<serde_json::Value>())
            }
            _ => {
                let mut rows: Vec<Vec<String>> = Vec::new();
                if !globals.no_headers {
                    rows.push(["PATH", "VALUE", "DEFAULT", "RANGE", "DESCRIPTION"].map(str::to_owned).to_vec());
                }
                rows.extend(SETTINGS.iter().map(|setting| {
                    let unit = if setting.unit.is_empty() { String::new() } else { format!(" {}", setting.unit) };
                    vec![
                        setting.path.to_owned(),
                        format!("{}{unit}", setting.value(&current)),
                        setting.default_value().to_string(),
                        format!("{}–{}", setting.min, setting.max),
                        setting.description.to_owned(),
                    ]
                }));
                host_kit::columns(&rows)
            }
        }),
        Verb::Set { name, value, .. } => {
            let setting = Setting::find(name)?;
            let value = value.unwrap_or_else(|| setting.default_value());
            setting.change(&mut current, value)?;
            let path = settings::save(&current)?;
            if !globals.quiet {
                let _closed = writeln!(io::stderr(), "{} is {value}, in {}", setting.path, path.display());
            }
            Ok(String::new())
        }
    }
}
