//! The catalog: objects and documents, and their stored form.
//!
//! [`Objects`](objects::Objects) and [`Documents`](documents::Documents) own their data; other parts
//! of the pool change it through their methods, which keep the account of promises and note what the
//! next checkpoint has to write.

use crate::interface::ObjectId;

pub(crate) mod allotments;
pub(crate) mod changes;
pub(crate) mod documents;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod rest;
pub(crate) mod stream;
mod validate;

/// Object whose content is the table of all other objects.
pub(crate) const OBJECT_TABLE: ObjectId = ObjectId(1);
/// Object whose content is the documents.
pub(crate) const DOCUMENTS: ObjectId = ObjectId(2);
/// Object whose content is the queue of detached sub-trees.
pub(crate) const DROP_QUEUE: ObjectId = ObjectId(3);
/// Object whose content is the table of allotments.
pub(crate) const ALLOTMENTS: ObjectId = ObjectId(4);
/// First id of a volume; lower ids belong to the pool itself.
pub(crate) const FIRST_OBJECT: ObjectId = ObjectId(16);

/// True unless the id belongs to the pool itself.
pub(crate) const fn is_user_object(id: ObjectId) -> bool {
    id.0 >= FIRST_OBJECT.0
}
