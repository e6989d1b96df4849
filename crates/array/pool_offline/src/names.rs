//! What the volumes and snapshots of a pool are called: its documents say so.

use std::path::Path;

use control::ObjectNames;
use media::{LocalMedia, Media, OpenOptions, Overlay, Span};
use pool::{Core, Options};

/// The names in an open pool.
pub(crate) fn names<M: Media>(core: &Core<M>) -> ObjectNames {
    ObjectNames::of_documents(core.documents().iter().map(|(key, value)| (key.as_str(), value.as_ref())))
}

/// The names as of the last checkpoint of the pool in `path`, as far as they can be read.
pub(crate) fn names_in(path: &Path) -> ObjectNames {
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let media = Span::open(path, &open).ok().and_then(|disk| LocalMedia::open(disk).ok());
    let core = media.and_then(|media| Core::load_for_dump(Overlay::new(media), Options::default()).ok());
    core.as_ref().map(names).unwrap_or_default()
}

/// Sentences of the pool with these names.
pub(crate) fn explain(names: &ObjectNames, sentences: Vec<String>) -> Vec<String> {
    sentences.iter().map(|sentence| names.explain(sentence)).collect()
}
