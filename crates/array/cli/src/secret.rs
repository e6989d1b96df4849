//! Sources of CHAP secrets. The secret is never an option itself, because every process of the
//! machine can read options.

use crate::error::CliError;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

/// Longest secret file in bytes.
const MAX_SECRET_BYTES: u64 = 4096;

/// Source of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The array generates the secret.
    Generate,
    /// The user types it on the terminal.
    Prompt,
    /// First line of standard input.
    StandardInput,
    /// First line of a file.
    File(PathBuf),
    /// Environment variable.
    Variable(String),
}

impl FromStr for SecretSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            _ if text == "generate" => Ok(Self::Generate),
            _ if text == "prompt" => Ok(Self::Prompt),
            _ if text == "-" => Ok(Self::StandardInput),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            Some(("env", name)) if !name.is_empty() => Ok(Self::Variable(name.to_owned())),
            _ => Err("write generate, prompt, - (standard input), file:PATH or env:NAME".to_owned()),
        }
    }
}

impl SecretSource {
    /// Reads the secret; `None` if the array is to generate one. `what` names it in the prompt.
    pub(crate) fn read(&self, what: &str) -> Result<Option<String>, CliError> {
        let text = match self {
            Self::Generate => return Ok(None),
            Self::Prompt => rpassword::prompt_password(format!("{what}: "))
                .map_err(|error| CliError::failed(format!("cannot ask for the {what}: {error}")))?,
            Self::StandardInput => first_line(std::io::stdin().lock(), "standard input")?,
            Self::File(path) => {
                let shown = path.display().to_string();
                let file = std::fs::File::open(path)
                    .map_err(|error| CliError::failed(format!("cannot read {shown}: {error}")))?;
                first_line(file, &shown)?
            }
            Self::Variable(name) => std::env::var(name)
                .map_err(|error| CliError::usage(format!("the variable {name} cannot be used: {error}")))?,
        };
        Ok(Some(text))
    }
}

fn first_line(source: impl Read, shown: &str) -> Result<String, CliError> {
    let mut text = String::new();
    source
        .take(MAX_SECRET_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| CliError::failed(format!("cannot read {shown}: {error}")))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::SecretSource;

    #[test]
    fn sources_have_names() {
        for (text, source) in [
            ("generate", SecretSource::Generate),
            ("prompt", SecretSource::Prompt),
            ("-", SecretSource::StandardInput),
            ("file:/run/secret", SecretSource::File("/run/secret".into())),
            ("env:CHAP", SecretSource::Variable("CHAP".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(source));
        }
        for text in ["", "file:", "env:", "hunter2-hunter2"] {
            assert!(text.parse::<SecretSource>().is_err(), "{text}");
        }
    }
}
