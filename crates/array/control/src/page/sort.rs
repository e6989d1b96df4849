//! Order of a list: by its columns, and by the unique key of its rows where these are equal.

use crate::error::ControlError;
use crate::facts::Facts;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Largest number of columns by which a list is sorted.
const MAX_COLUMNS: usize = 2;

/// Value by which rows are sorted. An absent one precedes all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    /// No value.
    Absent,
    /// Number, size in bytes, or time in nanoseconds since 1970.
    Number(u64),
    /// Text, by code point.
    Text(String),
}

impl From<u64> for Key {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<jiff::Timestamp> for Key {
    fn from(time: jiff::Timestamp) -> Self {
        Self::Number(u64::try_from(time.as_nanosecond()).unwrap_or(0))
    }
}

impl<K: Into<Self>> From<Option<K>> for Key {
    fn from(value: Option<K>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

/// Column by which a list with rows `R` can be sorted.
pub struct Column<R> {
    /// Name: that of the sort key. Most are names of fields in the answer.
    pub name: &'static str,
    /// True if the value is a count ([`crate::Read::counted`]).
    is_counted: bool,
    /// Value of a row.
    key: fn(&dyn Facts, &R) -> Key,
}

impl<R> std::fmt::Debug for Column<R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Creates a column.
pub(crate) const fn column<R>(name: &'static str, key: fn(&dyn Facts, &R) -> Key) -> Column<R> {
    Column { name, is_counted: false, key }
}

/// Creates a column whose values are counts.
pub(crate) const fn counted_column<R>(name: &'static str, key: fn(&dyn Facts, &R) -> Key) -> Column<R> {
    Column { name, is_counted: true, key }
}

/// Wanted order of a list.
pub(super) struct Sort<R: 'static> {
    /// Columns, and whether they descend.
    columns: Vec<(&'static Column<R>, bool)>,
    /// True if the list's own order descends.
    descending: bool,
}

/// Place of a row in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Values of the columns.
    values: Vec<Key>,
    /// Unique key of the row.
    key: String,
}

impl<R> Sort<R> {
    /// Reads `column,-column`. A minus sign makes a column descend. Errors: `InvalidQuery` for a
    /// column that the list does not have, a repeated one, or too many.
    pub fn parse(text: Option<&str>, of: &'static [Column<R>], descending: bool) -> Result<Self, ControlError> {
        let mut columns: Vec<(&'static Column<R>, bool)> = Vec::new();
        for word in text.into_iter().flat_map(|text| text.split(',')) {
            let (name, descends) = word.strip_prefix('-').map_or((word, false), |name| (name, true));
            let Some(column) = of.iter().find(|column| column.name == name) else {
                let known: Vec<&str> = of.iter().map(|column| column.name).collect();
                let known = known.join(", ");
                return Err(ControlError::InvalidQuery(format!("the list has no sort key {name:?}: it has {known}")));
            };
            if columns.iter().any(|(other, _)| other.name == name) {
                return Err(ControlError::InvalidQuery(format!("the sort key {name:?} is repeated")));
            }
            columns.push((column, descends));
        }
        if columns.len() > MAX_COLUMNS {
            return Err(ControlError::InvalidQuery(format!("a list is sorted by at most {MAX_COLUMNS} keys")));
        }
        Ok(Self { columns, descending })
    }

    /// True if the order is the list's own.
    pub fn is_natural(&self) -> bool {
        self.columns.is_empty()
    }

    /// True if the order depends on counts.
    pub fn is_counted(&self) -> bool {
        self.columns.iter().any(|(column, _)| column.is_counted)
    }

    /// Place of a row with this key.
    pub fn position(&self, facts: &dyn Facts, key: String, row: &R) -> Position {
        Position { values: self.columns.iter().map(|(column, _)| (column.key)(facts, row)).collect(), key }
    }

    /// Order of two places.
    pub fn compare(&self, one: &Position, other: &Position) -> Ordering {
        let directed = |order: Ordering, descends: bool| if descends { order.reverse() } else { order };
        let values = one.values.iter().zip(&other.values).zip(&self.columns);
        values
            .map(|((one, other), (_, descends))| directed(one.cmp(other), *descends))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| directed(one.key.cmp(&other.key), self.descending))
    }

    /// Text of a place; [`Sort::read`] reads it.
    pub fn write(&self, position: &Position) -> String {
        if self.is_natural() {
            return position.key.clone();
        }
        serde_json::to_string(&(&position.values, &position.key)).unwrap_or_default()
    }

    /// Place with this text. Errors: `InvalidQuery` if the text is not from a list in this order.
    pub fn read(&self, text: &str) -> Result<Position, ControlError> {
        if self.is_natural() {
            return Ok(Position { values: Vec::new(), key: text.to_owned() });
        }
        let parsed = serde_json::from_str::<(Vec<Key>, String)>(text).ok();
        let parsed = parsed.filter(|(values, _)| values.len() == self.columns.len());
        let foreign = || ControlError::InvalidQuery("after is not from the link to a part in this order".to_owned());
        parsed.map(|(values, key)| Position { values, key }).ok_or_else(foreign)
    }
}
