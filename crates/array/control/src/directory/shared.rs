//! The directory for readers on the thread that owns it.

use super::Directory;
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// The directory of a `Control`, to read. It shows each change as soon as it is made.
#[derive(Clone)]
pub struct SharedDirectory(Rc<RefCell<Directory>>);

impl SharedDirectory {
    pub(crate) fn new(directory: &Rc<RefCell<Directory>>) -> Self {
        Self(Rc::clone(directory))
    }

    /// The borrow must not be held across an await.
    pub fn borrow(&self) -> Ref<'_, Directory> {
        self.0.borrow()
    }
}
