//! Lists in parts. A list has rows with unique keys, in its order; a part is the rows after one of
//! them, in this order or in that of columns. Rows that are added or removed between two requests
//! neither repeat nor hide others. A row whose values in these columns change meanwhile moves, and may
//! be in two parts or in none.

mod sort;

pub use sort::{Column, Key};
pub(crate) use sort::{column, counted_column};

use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use crate::text_match;
use pool::ObjectId;
use sort::{Position, Sort};

/// List that can be read in parts.
pub trait Listed: Read<Reply = Vec<Self::View>> {
    /// Element of the reply.
    type View: Send + 'static;
    /// Identity of an element, from which its view is built.
    type Row: 'static;
    /// True if the keys descend: the newest element comes first.
    const DESCENDING: bool = false;
    /// Columns by which the list can be sorted.
    const COLUMNS: &'static [Column<Self::Row>];
    /// Order of a part that names none; absent: that of the list.
    const DEFAULT_SORT: Option<&'static str> = None;
    /// True if views have counts ([`Self::counted_of`]).
    const HAS_COUNTS: bool = false;

    /// All rows that match the filter of the list, with their keys, in the order of the list.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Self::Row)>, ControlError>;
    /// Texts of a row in which [`Page::text`] is searched.
    fn texts(facts: &dyn Facts, row: &Self::Row) -> Vec<String>;
    /// Views of rows. Objects that do not exist any more are omitted.
    fn views(&self, facts: &dyn Facts, rows: Vec<Self::Row>) -> Vec<Self::View>;
    /// [`Read::counted`] of rows.
    fn counted_of(&self, _facts: &dyn Facts, _rows: &[Self::Row]) -> Vec<Vec<ObjectId>> {
        Vec::new()
    }

    /// [`Read::counted`] of the whole list.
    fn all_counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let rows: Vec<_> = self.rows(facts).unwrap_or_default().into_iter().map(|(_, row)| row).collect();
        self.counted_of(facts, &rows)
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
    /// Only elements with this text, whatever its case.
    pub text: Option<String>,
    /// Columns by which the list is sorted: `size_bytes,-name`. Absent: [`Listed::DEFAULT_SORT`].
    pub sort: Option<String>,
    /// Start of the part.
    pub start: Start,
    /// Largest number of elements.
    pub limit: usize,
}

/// Start of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first element.
    Beginning,
    /// The element after that of [`Part::next`].
    After(String),
    /// The element after this many.
    Offset(usize),
    /// The element with which the part ends at the end of the list.
    End,
}

/// Reply to a [`Page`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<V> {
    /// Elements.
    pub views: Vec<V>,
    /// Element to continue after; absent at the end of the list.
    pub next: Option<String>,
    /// Number of elements of all parts.
    pub total: usize,
    /// [`Directory::revision`](crate::Directory::revision) of the list.
    pub revision: u64,
}

/// Rows of a part.
struct Rows<R> {
    rows: Vec<R>,
    next: Option<String>,
    total: usize,
}

impl<L: Listed> Page<L> {
    /// The first `limit` elements of a list in its order.
    pub fn first(list: L, limit: usize) -> Self {
        Self { list, text: None, sort: None, start: Start::Beginning, limit }
    }

    fn sort(&self) -> Result<Sort<L::Row>, ControlError> {
        Sort::parse(self.sort.as_deref().or(L::DEFAULT_SORT), L::COLUMNS, L::DESCENDING)
    }

    /// Rows of all parts, in the order of the list.
    fn matching(&self, facts: &dyn Facts) -> Result<Vec<(String, L::Row)>, ControlError> {
        let mut rows = self.list.rows(facts)?;
        if let Some(text) = self.text.as_deref().map(str::to_lowercase) {
            rows.retain(|(_, row)| L::texts(facts, row).iter().any(|found| text_match::contains(found, &text)));
        }
        Ok(rows)
    }

    /// Rows of which the part needs counts: its own, or, if their order depends on counts, all.
    fn counted_rows(&self, facts: &dyn Facts) -> Result<Vec<L::Row>, ControlError> {
        if self.sort()?.is_counted() {
            return Ok(self.matching(facts)?.into_iter().map(|(_, row)| row).collect());
        }
        Ok(self.rows(facts)?.rows)
    }

    fn rows(&self, facts: &dyn Facts) -> Result<Rows<L::Row>, ControlError> {
        let sort = self.sort()?;
        let rows = self.matching(facts)?;
        let mut rows: Vec<(Position, L::Row)> =
            rows.into_iter().map(|(key, row)| (sort.position(facts, key, &row), row)).collect();
        if !sort.is_natural() {
            rows.sort_by(|(one, _), (other, _)| sort.compare(one, other));
        }
        let total = rows.len();
        let first = match &self.start {
            Start::Beginning => 0,
            Start::After(after) => {
                let after = sort.read(after)?;
                rows.partition_point(|(position, _)| sort.compare(position, &after).is_le())
            }
            Start::Offset(offset) => total.min(*offset),
            Start::End => total.saturating_sub(self.limit),
        };
        rows.drain(..first);
        let is_last = rows.len() <= self.limit;
        rows.truncate(self.limit);
        let next = rows.last().filter(|_| !is_last).map(|(position, _)| sort.write(position));
        Ok(Rows { rows: rows.into_iter().map(|(_, row)| row).collect(), next, total })
    }
}

impl<L: Listed> Read for Page<L> {
    type Reply = Part<L::View>;
    const NAME: &'static str = L::NAME;
    const FRESH_COUNTS: bool = L::FRESH_COUNTS;

    /// In an order by a counted column, the counts of all rows: those that are stale are made again,
    /// as for the whole list.
    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        if !L::HAS_COUNTS {
            return Vec::new();
        }
        self.counted_rows(facts).map(|rows| self.list.counted_of(facts, &rows)).unwrap_or_default()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Part<L::View>, ControlError> {
        let Rows { rows, next, total } = self.rows(facts)?;
        let revision = facts.directory().revision();
        Ok(Part { views: self.list.views(facts, rows), next, total, revision })
    }
}
