//! The catalog: objects and documents, and their stored form.
//!
//! [`Objects`] and [`Documents`] own what is known of them; what the rest of the pool changes goes through their methods, which keep
//! the account of promises and remember what the next checkpoint has to write.

pub(crate) mod documents;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod stream;
mod validate;

/// The object whose content is the table of all others.
pub(crate) const OBJECT_TABLE: u64 = 1;
/// The object whose content is the documents.
pub(crate) const DOCUMENTS: u64 = 2;
/// The object whose content is the queue of detached sub-trees.
pub(crate) const DROP_QUEUE: u64 = 3;
/// The first id of a volume; those below belong to the pool itself.
pub(crate) const FIRST_OBJECT: u64 = 16;

/// Ids below this belong to the pool itself.
pub(crate) const fn is_user_object(id: u64) -> bool {
    id >= FIRST_OBJECT
}
