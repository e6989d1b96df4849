//! Resources as tables, JSON, CSV or names.
//!
//! A resource lists its columns once ([`Resource::COLUMNS`]); list and show, table, wide and CSV
//! all use that list. JSON and YAML are the array's answer, with every field.

use crate::client::Client;
use crate::error::CliError;
use crate::{Console, Globals};
use api::Warning;
use serde::Serialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::time::Duration;
use text::columns::{self, Align};
use text::duration;
use text::terminal::harmless;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people
    Table,
    /// Aligned columns, more of them
    Wide,
    /// Every field, sizes in bytes, times in UTC
    Json,
    /// The document of json as YAML
    Yaml,
    /// Comma-separated values with every column, sizes in bytes
    Csv,
    /// One name per line
    Name,
    /// Format of esxcli; only for `probe` and `disk settings list`, whose help names it
    #[value(hide = true)]
    Esxcli,
    /// Commands alone; only for `connect`, whose help names it
    #[value(hide = true)]
    Sh,
}

impl Format {
    /// True for a document with every field: JSON or YAML.
    pub const fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

/// Value in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Plain text.
    Text(String),
    /// A number, aligned to the right.
    Number(u64),
    /// Size in bytes; people see IEC units.
    Bytes(u64),
    /// Duration in microseconds; people see the best unit.
    Microseconds(u64),
    /// Number of occurrences; tables print `×3`.
    Times(u64),
    /// No value.
    None,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<V: Into<Self>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl Value {
    /// Text in a table.
    pub(crate) fn shown(&self, bytes: bool) -> String {
        match self {
            Self::Text(text) => harmless(text),
            Self::Number(number) => number.to_string(),
            Self::Bytes(number) if bytes => number.to_string(),
            Self::Bytes(number) => api::size::format(*number),
            Self::Microseconds(us) => duration::measured(Duration::from_micros(*us)),
            Self::Times(number) => format!("×{number}"),
            Self::None => "–".to_owned(),
        }
    }

    /// Text in a CSV file.
    fn raw(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) | Self::Bytes(number) | Self::Microseconds(number) | Self::Times(number) => {
                number.to_string()
            }
            Self::None => String::new(),
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Bytes(_) | Self::Microseconds(_) | Self::Times(_))
    }
}

/// Column of a resource.
pub(crate) struct Column<T> {
    /// Name for `--columns`; its heading is the name in capitals.
    pub(crate) name: &'static str,
    /// Shown with `-o wide` only (and in CSV, and by `show`).
    pub(crate) wide: bool,
    /// Left out first when the table is wider than the terminal.
    pub(crate) minor: bool,
    /// Returns the value of the column.
    pub(crate) value: fn(&T) -> Value,
}

/// Resource that can be shown.
pub(crate) trait Resource: Serialize + Sized + 'static {
    /// Columns, in order.
    const COLUMNS: &'static [Column<Self>];
    /// Advice for people below an empty list; none if empty.
    const WHEN_EMPTY: &'static str = "";
    /// Text that `-o name` prints.
    fn name(&self) -> String;
}

/// Returns a column that every format shows.
pub(crate) const fn column<T>(name: &'static str, value: fn(&T) -> Value) -> Column<T> {
    Column { name, wide: false, minor: false, value }
}

/// Returns a column that every format shows, but a table only where the terminal has room for it.
pub(crate) const fn minor<T>(name: &'static str, value: fn(&T) -> Value) -> Column<T> {
    Column { name, wide: false, minor: true, value }
}

/// Returns a column that only `-o wide` shows.
pub(crate) const fn wide<T>(name: &'static str, value: fn(&T) -> Value) -> Column<T> {
    Column { name, wide: true, minor: true, value }
}

/// Output of a command.
pub(crate) struct Output<'a, 'c> {
    globals: &'a Globals,
    console: &'a mut Console<'c>,
    /// Columns that the first part of a growing list had no room for.
    left_out: Vec<&'static str>,
}

impl<'a, 'c> Output<'a, 'c> {
    pub(crate) fn new(globals: &'a Globals, console: &'a mut Console<'c>) -> Self {
        Self { globals, console, left_out: Vec::new() }
    }

    /// Shows a list, one row each.
    pub(crate) fn list<T: Resource>(&mut self, items: &[T]) -> Result<(), CliError> {
        self.list_of(items, |column| !column.wide)
    }

    /// Shows a list, one row each, with the columns of `shown`, unless the user or the format chooses others.
    pub(crate) fn list_of<T: Resource>(
        &mut self,
        items: &[T],
        shown: impl Fn(&Column<T>) -> bool,
    ) -> Result<(), CliError> {
        let columns = self.columns::<T>(shown)?;
        let mut note = None;
        let text = match self.globals.output {
            Format::Json | Format::Yaml => written(self.globals.output, &items)?,
            Format::Name => names(items),
            Format::Csv => csv(&columns, items, !self.globals.no_headers),
            Format::Table | Format::Wide | Format::Esxcli | Format::Sh => {
                let (text, left) = self.table(&columns, items, !self.globals.no_headers);
                note = self.note(&columns, &left);
                text
            }
        };
        self.console.data(&text)?;
        note.iter().for_each(|note| self.report(note));
        if items.is_empty() && !T::WHEN_EMPTY.is_empty() && self.is_for_people() {
            self.report(T::WHEN_EMPTY);
        }
        Ok(())
    }

    /// Shows a further part of a list that grows, with a heading before the `first` one. JSON is
    /// one object per line, YAML one document each.
    pub(crate) fn more<T: Resource>(&mut self, items: &[T], first: bool) -> Result<(), CliError> {
        let mut columns = self.columns::<T>(|column| !column.wide)?;
        let headings = first && !self.globals.no_headers;
        let mut note = None;
        let text = match self.globals.output {
            Format::Json => {
                let line = |item: &T| serde_json::to_string(item).map(|text| text + "\n");
                let lines: Result<String, _> = items.iter().map(line).collect();
                lines.map_err(|error| CliError::failed(error.to_string()))?
            }
            Format::Yaml => {
                let one = |item: &T| written(Format::Yaml, item).map(|text| format!("---\n{text}"));
                items.iter().map(one).collect::<Result<String, CliError>>()?
            }
            Format::Name => names(items),
            Format::Csv => csv(&columns, items, headings),
            Format::Table | Format::Wide | Format::Esxcli | Format::Sh => {
                if !first {
                    // The heading was without them.
                    columns.retain(|column| !self.left_out.contains(&column.name));
                }
                let (text, left) = self.table(&columns, items, headings);
                if first {
                    note = self.note(&columns, &left);
                    self.left_out = left.iter().filter_map(|at| columns.get(*at)).map(|column| column.name).collect();
                }
                text
            }
        };
        self.console.data(&text)?;
        note.iter().for_each(|note| self.report(note));
        Ok(())
    }

    /// An aligned table, fitted to the terminal, and the columns for which it has no room. A pipe, `-o wide` and the
    /// columns that the user chose get everything.
    fn table<T>(&self, columns: &[&Column<T>], items: &[T], headings: bool) -> (String, Vec<usize>) {
        let (aligns, rows) = cells(columns, items, headings, self.globals.bytes);
        let (lines, left) = match self.console.width() {
            None => (columns::lines(&aligns, &rows), Vec::new()),
            Some(width) if self.globals.output == Format::Wide || !self.globals.columns.is_empty() => {
                (columns::stacked(width, &aligns, &rows), Vec::new())
            }
            Some(width) => {
                let minor: Vec<bool> = columns.iter().map(|column| column.minor).collect();
                columns::fitted(width, &aligns, &minor, &rows)
            }
        };
        (whole_lines(lines), left)
    }

    /// Sentence about columns that are left out, if there are any.
    fn note<T>(&self, columns: &[&Column<T>], left: &[usize]) -> Option<String> {
        let names: Vec<String> =
            left.iter().filter_map(|at| columns.get(*at)).map(|column| heading(column.name)).collect();
        (!names.is_empty()).then(|| format!("note: no room for {}; -o wide shows every column", names.join(", ")))
    }

    /// True unless the reader of the output has gone: `windlass … | head`.
    pub(crate) fn has_reader(&self) -> bool {
        self.console.has_reader()
    }

    /// Shows progress on a terminal.
    pub(crate) fn progress(&mut self, line: &str) {
        if !self.globals.quiet {
            let line = harmless(line);
            self.console.progress(&line);
        }
    }

    /// Clears the progress.
    pub(crate) fn end_progress(&mut self) {
        if !self.globals.quiet {
            self.console.end_progress();
        }
    }

    /// Shows one resource, one line per column.
    pub(crate) fn show<T: Resource>(&mut self, item: &T) -> Result<(), CliError> {
        let columns = self.columns::<T>(|_| true)?;
        let text = match self.globals.output {
            Format::Json | Format::Yaml => written(self.globals.output, item)?,
            Format::Name => names(std::slice::from_ref(item)),
            Format::Csv => csv(&columns, std::slice::from_ref(item), !self.globals.no_headers),
            Format::Table | Format::Wide | Format::Esxcli | Format::Sh => {
                lines(&columns, item, !self.globals.no_headers, self.globals.bytes)
            }
        };
        Ok(self.console.data(&text)?)
    }

    /// Shows a created resource as one row, with a note if it existed before.
    pub(crate) fn made<T: Resource>(&mut self, noun: &str, item: &T, created: bool) -> Result<(), CliError> {
        if !created {
            self.report(&format!("note: {noun} {} already existed, with the same parameters", item.name()));
        }
        match self.globals.output {
            Format::Json | Format::Yaml => self.show(item),
            _ => self.list(std::slice::from_ref(item)),
        }
    }

    /// Shows the warnings of a reply, whose texts contain names.
    pub(crate) fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings {
            self.warn(&format!("warning: {} (code: {})", harmless(&warning.message), harmless(&warning.code)));
        }
    }

    /// True if the output is for a person: a table on a terminal.
    pub(crate) fn is_for_people(&self) -> bool {
        self.globals.output == Format::Table && self.console.is_terminal() && !self.globals.quiet
    }

    /// Format that the user chose.
    pub(crate) fn format(&self) -> Format {
        self.globals.output
    }

    /// Formats a size for people, or in bytes with `--bytes`.
    pub(crate) fn size(&self, bytes: u64) -> String {
        Value::Bytes(bytes).shown(self.globals.bytes)
    }

    /// Writes text that the command has formatted itself.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), CliError> {
        Ok(self.console.data(text)?)
    }

    /// True if the output is the array's answer as a document: JSON or YAML.
    pub(crate) fn is_document(&self) -> bool {
        self.globals.output.is_document()
    }

    /// Writes a value as a document: YAML if that was chosen, JSON otherwise.
    pub(crate) fn document(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = written(self.globals.output, value)?;
        Ok(self.console.data(&text)?)
    }

    /// Reports deleted objects to programs: `{"deleted": [NAME, …]}`.
    pub(crate) fn deleted(&mut self, names: &[&str]) -> Result<(), CliError> {
        match self.globals.output {
            Format::Json | Format::Yaml => self.document(&BTreeMap::from([("deleted", names)])),
            _ => Ok(()),
        }
    }

    /// Reports an action on standard error, unless `--quiet` is given.
    pub(crate) fn report(&mut self, text: &str) {
        if !self.globals.quiet {
            self.console.error(text);
        }
    }

    /// Reports a warning, even with `--quiet`.
    pub(crate) fn warn(&mut self, text: &str) {
        self.console.error(text);
    }

    /// True if an irreversible change needs a confirmation. The names in the question are checked
    /// first: a question about an object that does not exist hides the misspelt name.
    pub(crate) fn asks(&self) -> bool {
        !self.globals.yes
    }

    /// Asks for confirmation of an irreversible change, unless `--yes` is given. Fails without a
    /// terminal.
    pub(crate) fn confirm(&mut self, question: &str) -> Result<(), CliError> {
        if self.globals.yes {
            return Ok(());
        }
        match self.console.confirm(question)? {
            Some(true) => Ok(()),
            Some(false) => Err(CliError::failed("nothing was changed".to_owned())),
            None => Err(CliError::unconfirmed(question)),
        }
    }

    /// Like [`Self::confirm`], after a check that the object at `path` exists.
    pub(crate) async fn confirm_for(&mut self, path: &str, client: &Client, question: &str) -> Result<(), CliError> {
        if self.asks() {
            client.get::<IgnoredAny>(path).await?;
        }
        self.confirm(question)
    }

    /// Columns that the user chose, or all those of the format, or those of `shown`.
    fn columns<T: Resource>(&self, shown: impl Fn(&Column<T>) -> bool) -> Result<Vec<&'static Column<T>>, CliError> {
        if self.globals.columns.is_empty() {
            let all = matches!(self.globals.output, Format::Wide | Format::Csv);
            return Ok(T::COLUMNS.iter().filter(|column| all || shown(column)).collect());
        }
        let find = |name: &String| {
            T::COLUMNS.iter().find(|column| column.name.eq_ignore_ascii_case(name.trim())).ok_or_else(|| {
                let known: Vec<&str> = T::COLUMNS.iter().map(|column| column.name).collect();
                CliError::usage(format!("there is no column {name:?}; the columns are {}", known.join(",")))
            })
        };
        self.globals.columns.iter().map(find).collect()
    }
}

/// A value as a document: YAML if that was chosen, JSON otherwise. Both have the same fields in the same order.
///
/// # Errors
///
/// A description, if the value has a key that is no text.
pub fn document(format: Format, value: &impl Serialize) -> Result<String, String> {
    let text = match format {
        Format::Yaml => serde_saphyr::to_string(value).map_err(|error| error.to_string())?,
        _ => serde_json::to_string_pretty(value).map_err(|error| error.to_string())?,
    };
    Ok(text.trim_end().to_owned() + "\n")
}

fn written(format: Format, value: &impl Serialize) -> Result<String, CliError> {
    document(format, value).map_err(CliError::failed)
}

fn names<T: Resource>(items: &[T]) -> String {
    items.iter().map(|item| item.name() + "\n").collect()
}

/// Formats one line per item, RFC 4180.
fn csv<T>(columns: &[&Column<T>], items: &[T], headings: bool) -> String {
    let heading = headings.then(|| columns.iter().map(|column| column.name.to_owned()).collect::<Vec<_>>());
    let rows = items.iter().map(|item| columns.iter().map(|column| (column.value)(item).raw()).collect());
    let line = |row: Vec<String>| row.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",") + "\n";
    heading.into_iter().chain(rows).map(line).collect()
}

fn csv_field(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Cells of a table without borders, with its headings; columns of numbers are right-aligned.
fn cells<T>(columns: &[&Column<T>], items: &[T], headings: bool, bytes: bool) -> (Vec<Align>, Vec<Vec<String>>) {
    let mut aligns = vec![Align::Left; columns.len()];
    let mut rows = Vec::with_capacity(items.len() + 1);
    if headings {
        rows.push(columns.iter().map(|column| heading(column.name)).collect());
    }
    for item in items {
        let values: Vec<Value> = columns.iter().map(|column| (column.value)(item)).collect();
        for (align, _) in aligns.iter_mut().zip(&values).filter(|(_, value)| value.is_number()) {
            *align = Align::Right;
        }
        rows.push(values.iter().map(|value| value.shown(bytes)).collect());
    }
    (aligns, rows)
}

/// Formats one line per column of one item.
fn lines<T>(columns: &[&Column<T>], item: &T, headings: bool, bytes: bool) -> String {
    let row = |column: &&Column<T>| {
        let value = (column.value)(item).shown(bytes);
        if headings { vec![heading(column.name), value] } else { vec![value] }
    };
    let rows: Vec<Vec<String>> = columns.iter().map(row).collect();
    whole_lines(columns::lines(&[], &rows))
}

fn heading(name: &str) -> String {
    name.replace('-', " ").to_uppercase()
}

fn whole_lines(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::{Column, Resource, Value, cells, column, csv, lines, whole_lines, wide};
    use serde::Serialize;

    #[derive(Serialize)]
    struct Disk {
        name: &'static str,
        size_bytes: u64,
    }

    impl Resource for Disk {
        const COLUMNS: &'static [Column<Self>] = &[
            column("name", |disk| disk.name.into()),
            column("size", |disk| Value::Bytes(disk.size_bytes)),
            wide("seek-time", |_| Value::None),
        ];
        fn name(&self) -> String {
            self.name.to_owned()
        }
    }

    const DISKS: [Disk; 2] =
        [Disk { name: "a", size_bytes: 100 << 30 }, Disk { name: "longer \"name\"", size_bytes: 512 }];

    fn all() -> Vec<&'static Column<Disk>> {
        Disk::COLUMNS.iter().collect()
    }

    fn rows(columns: &[&Column<Disk>], disks: &[Disk], headings: bool, bytes: bool) -> String {
        let (aligns, rows) = cells(columns, disks, headings, bytes);
        whole_lines(text::columns::lines(&aligns, &rows))
    }

    #[test]
    fn tables_are_aligned_and_numbers_stand_right() {
        let narrow: Vec<_> = all().into_iter().take(2).collect();
        assert_eq!(
            rows(&narrow, &DISKS, true, false),
            "NAME              SIZE\n\
             a              100 GiB\n\
             longer \"name\"    512 B\n"
        );
        assert_eq!(rows(&narrow, &DISKS[..1], false, true), "a  107374182400\n");
        assert_eq!(rows(&narrow, &[], true, false), "NAME  SIZE\n");
        assert_eq!(rows(&narrow, &[], false, false), "");
    }

    #[test]
    fn text_from_the_network_cannot_drive_the_terminal() {
        assert_eq!(Value::from("a\u{1b}[2Jb\n").shown(false), "a\\u{1b}[2Jb\\n");
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        assert_eq!(Value::Microseconds(1_250).shown(false), "1.25 ms");
    }

    #[test]
    fn one_resource_is_shown_in_lines() {
        assert_eq!(lines(&all(), &DISKS[0], true, false), "NAME       a\nSIZE       100 GiB\nSEEK TIME  –\n");
    }

    #[test]
    fn csv_is_quoted_where_needed_and_has_bytes() {
        assert_eq!(csv(&all(), &DISKS, true), "name,size,seek-time\na,107374182400,\n\"longer \"\"name\"\"\",512,\n");
    }
}
