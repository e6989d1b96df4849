//! The token `bootstrap`, with which an array begins: generated at the first use of HTTPS.
//!
//! It is in `STATE_DIR/admin.token`, for its owner. The array keeps its digest alone, in
//! `STATE_DIR/admin.token.sha256`. If that file is deleted, the next start generates a new token.

use super::entropy::random;
use anyhow::Context;
use identity::{Digest, token_text};
use reactor::state_files::write_private;
use std::path::Path;

/// Name of the file with the token, in the state directory.
pub(super) const FILE_NAME: &str = "admin.token";
/// Name of the file with its digest.
const DIGEST_NAME: &str = "admin.token.sha256";

/// Reads the stored digest, or generates a token.
pub(super) fn digest(state_dir: &Path) -> anyhow::Result<Digest> {
    let path = state_dir.join(DIGEST_NAME);
    if path.exists() {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        return Digest::try_from(text.trim().to_owned()).map_err(anyhow::Error::msg).with_context(|| {
            format!("{} is not a SHA-256 digest: delete it to have a new token made", path.display())
        });
    }
    let token = token_text(&random()?);
    let digest = Digest::of(token.as_bytes());
    write_private(&state_dir.join(FILE_NAME), &format!("{token}\n"))?;
    write_private(&path, &format!("{digest}\n"))?;
    Ok(digest)
}

/// Removes both files, after the token was deleted.
pub(super) fn remove(state_dir: &Path) {
    for name in [FILE_NAME, DIGEST_NAME] {
        let _gone = std::fs::remove_file(state_dir.join(name));
    }
}
