//! Lists in parts. A list has rows with unique keys, in its order; a part is the rows after a key.
//! Rows that are added or removed between two requests neither repeat nor hide others.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use pool::ObjectId;

/// List that can be read in parts.
pub trait Listed: Read<Reply = Vec<Self::View>> {
    /// Element of the reply.
    type View: Send + 'static;
    /// Identity of an element, from which its view is built.
    type Row;
    /// True if the keys descend: the newest element comes first.
    const DESCENDING: bool = false;

    /// All rows with their keys, in the order of the list.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Self::Row)>, ControlError>;
    /// Views of rows. Objects that do not exist any more are omitted.
    fn views(&self, facts: &dyn Facts, rows: Vec<Self::Row>) -> Vec<Self::View>;
    /// [`Read::counted`] of rows.
    fn counted_of(&self, _facts: &dyn Facts, _rows: &[Self::Row]) -> Vec<Vec<ObjectId>> {
        Vec::new()
    }

    /// The whole list.
    fn all(&self, facts: &dyn Facts) -> Result<Vec<Self::View>, ControlError> {
        let rows = self.rows(facts)?.into_iter().map(|(_, row)| row).collect();
        Ok(self.views(facts, rows))
    }
}

/// Part of a list.
#[derive(Clone, Debug)]
pub struct Page<L> {
    /// The list.
    pub list: L,
    /// Key of the last element of the part before; absent: from the start.
    pub after: Option<String>,
    /// Largest number of elements.
    pub limit: usize,
}

/// Reply to a [`Page`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<V> {
    /// Elements.
    pub views: Vec<V>,
    /// Key to continue after; absent at the end of the list.
    pub next: Option<String>,
}

impl<L: Listed> Page<L> {
    fn rows(&self, facts: &dyn Facts) -> Result<(Vec<L::Row>, Option<String>), ControlError> {
        let mut rows = self.list.rows(facts)?;
        let is_before = |key: &String, after: &String| if L::DESCENDING { key >= after } else { key <= after };
        let start = self.after.as_ref().map_or(0, |after| rows.partition_point(|(key, _)| is_before(key, after)));
        rows.drain(..start);
        let is_last = rows.len() <= self.limit;
        rows.truncate(self.limit);
        let next = rows.last().filter(|_| !is_last).map(|(key, _)| key.clone());
        Ok((rows.into_iter().map(|(_, row)| row).collect(), next))
    }
}

impl<L: Listed> Read for Page<L> {
    type Reply = Part<L::View>;
    const NAME: &'static str = L::NAME;
    const FRESH_COUNTS: bool = L::FRESH_COUNTS;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.rows(facts).map(|(rows, _)| self.list.counted_of(facts, &rows)).unwrap_or_default()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Part<L::View>, ControlError> {
        let (rows, next) = self.rows(facts)?;
        Ok(Part { views: self.list.views(facts, rows), next })
    }
}
