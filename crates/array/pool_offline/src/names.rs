//! Names of the volumes and snapshots of a pool, from its documents.

use std::path::Path;

use control::ObjectNames;
use media::{LocalMedia, Media, OpenOptions, Overlay, Span};
use pool::{Core, Options};

/// Names in an open pool.
pub(crate) fn names<M: Media>(core: &Core<M>) -> ObjectNames {
    ObjectNames::of_documents(core.documents().iter().map(|(key, value)| (key.as_str(), value.as_ref())))
}

/// Names in the last checkpoint of the pool in `path`, as far as they are readable.
pub(crate) fn names_in(path: &Path) -> ObjectNames {
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let media = Span::open(path, &open).ok().and_then(|disk| LocalMedia::open(disk).ok());
    let core = media.and_then(|media| Core::load_for_dump(Overlay::new(media), Options::default()).ok());
    core.as_ref().map(names).unwrap_or_default()
}

/// Replaces object numbers by names in sentences of the pool.
pub(crate) fn explain(names: &ObjectNames, sentences: Vec<String>) -> Vec<String> {
    sentences.iter().map(|sentence| names.explain(sentence)).collect()
}
