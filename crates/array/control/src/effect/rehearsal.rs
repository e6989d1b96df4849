//! The plan of a change, as far as it is reported.

use super::{Broken, BrokenKind};
use crate::condition::{User, UserKind};
use crate::pools::state::Warning;
use pool::ObjectId;

/// Most broken objects that a report names; a warning counts the others.
const MAX_BREAKS: usize = 256;
/// Most names in a sentence.
const MAX_NAMES: usize = 8;

/// What a change would do, apart from bytes that have to be counted. Only requests of this crate make one.
#[derive(Debug, Default)]
pub struct Rehearsal {
    /// Objects whose content goes; absent if the change is not about space. Their bytes are counted together.
    freed: Option<Vec<ObjectId>>,
    breaks: Vec<Broken>,
    /// Broken objects that are not named.
    unnamed: usize,
    warnings: Vec<Warning>,
}

impl Rehearsal {
    /// Adds objects whose content goes: those that are deleted, or that get another content. Without objects, the
    /// change is about space and frees none.
    pub(crate) fn frees(mut self, objects: impl IntoIterator<Item = ObjectId>) -> Self {
        self.freed.get_or_insert_default().extend(objects);
        self
    }

    /// Adds one broken object.
    pub(crate) fn breaks(mut self, kind: BrokenKind, name: impl Into<String>, why: impl Into<String>) -> Self {
        if self.breaks.len() < MAX_BREAKS {
            self.breaks.push(Broken { kind, name: name.into(), why: why.into() });
        } else {
            self.unnamed += 1;
        }
        self
    }

    /// Adds users of an object that all break for one reason.
    pub(crate) fn breaks_users(self, users: impl IntoIterator<Item = User>, why: &str) -> Self {
        users.into_iter().fold(self, |all, user| all.breaks(user.kind.into(), user.description, why))
    }

    /// Adds a consequence.
    pub(crate) fn warns(mut self, code: &'static str, message: impl Into<String>) -> Self {
        self.warnings.push(Warning { code, message: message.into() });
        self
    }

    /// Adds warnings of the change itself.
    pub(crate) fn warns_all(mut self, warnings: impl IntoIterator<Item = Warning>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Objects to count, sorted; what breaks; warnings.
    pub(super) fn into_parts(mut self) -> (Option<Vec<ObjectId>>, Vec<Broken>, Vec<Warning>) {
        if self.unnamed > 0 {
            let message = format!("{} more are affected in the same ways", self.unnamed);
            self.warnings.push(Warning { code: "more-affected", message });
        }
        if let Some(objects) = &mut self.freed {
            objects.sort_unstable();
            objects.dedup();
        }
        (self.freed, self.breaks, self.warnings)
    }
}

/// Names in a sentence; many are cut short.
pub(crate) fn names_in_words(names: &[String]) -> String {
    match names.split_at_checked(MAX_NAMES) {
        Some((named, rest)) if !rest.is_empty() => format!("{} and {} more", named.join(", "), rest.len()),
        _ => names.join(", "),
    }
}

impl From<UserKind> for BrokenKind {
    fn from(kind: UserKind) -> Self {
        match kind {
            UserKind::Access => Self::Access,
            UserKind::Session => Self::Session,
            UserKind::Snapshot => Self::Snapshot,
            UserKind::HostGroup => Self::HostGroup,
            UserKind::Host => Self::Host,
            UserKind::Volume => Self::Volume,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_broken_objects_are_counted_instead_of_named() {
        let all = (0..MAX_BREAKS + 3)
            .fold(Rehearsal::default(), |all, n| all.breaks(BrokenKind::Session, n.to_string(), "ends"));
        let (freed, breaks, warnings) = all.frees([ObjectId(2), ObjectId(1), ObjectId(2)]).into_parts();
        assert_eq!((freed, breaks.len()), (Some(vec![ObjectId(1), ObjectId(2)]), MAX_BREAKS));
        assert_eq!(warnings[0].message, "3 more are affected in the same ways");
        let names: Vec<String> = (0..10).map(|n| format!("v{n}")).collect();
        assert_eq!(names_in_words(&names), "v0, v1, v2, v3, v4, v5, v6, v7 and 2 more");
        assert_eq!(names_in_words(&names[..8]), "v0, v1, v2, v3, v4, v5, v6, v7");
    }
}
