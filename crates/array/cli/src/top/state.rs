//! What `windlass top` knows and is asked to show.

use super::View;
use api::{Sample, Session, Status};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Samples that are kept for the lines over time.
pub(super) const KEPT: usize = 120;
/// Longest filter.
const MAX_FILTER: usize = 64;

/// What a key asks the program to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Stay,
    Quit,
}

/// A value of a table: the order of rows, and the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    /// Whole units.
    Number(u64),
    Bytes(u64),
    Microseconds(u64),
}

impl Cell {
    /// Order of two values of one column: numbers by size, texts by letters.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            _ => self.number().cmp(&other.number()),
        }
    }

    const fn number(&self) -> u64 {
        match self {
            Self::Text(_) => 0,
            Self::Number(value) | Self::Bytes(value) | Self::Microseconds(value) => *value,
        }
    }
}

/// Rates of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HostRates {
    sessions: u64,
    commands: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// Counters of the sessions at one time.
#[derive(Debug)]
struct Counted {
    at: Instant,
    sessions: Vec<Session>,
}

/// What was measured, and what is wanted.
#[derive(Debug)]
pub(super) struct State {
    view: View,
    /// Number of the column by which rows are sorted.
    order: usize,
    ascending: bool,
    filter: String,
    is_typing: bool,
    is_paused: bool,
    samples: VecDeque<Sample>,
    status: Option<Status>,
    counted: Option<Counted>,
    hosts: BTreeMap<String, HostRates>,
    failure: Option<String>,
}

impl State {
    pub fn new(view: View) -> Self {
        Self {
            view,
            order: first_order(view),
            ascending: false,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            samples: VecDeque::new(),
            status: None,
            counted: None,
            hosts: BTreeMap::new(),
            failure: None,
        }
    }

    pub const fn view(&self) -> View {
        self.view
    }

    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub fn filter(&self) -> Option<&str> {
        (self.is_typing || !self.filter.is_empty()).then_some(self.filter.as_str())
    }

    pub const fn is_typing(&self) -> bool {
        self.is_typing
    }

    pub const fn order(&self) -> (usize, bool) {
        (self.order, self.ascending)
    }

    pub const fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Samples, the newest last.
    pub const fn samples(&self) -> &VecDeque<Sample> {
        &self.samples
    }

    /// Takes a sample. One that is known already, because the array has made no other, changes nothing.
    pub fn sampled(&mut self, sample: Sample) {
        if self.samples.back().is_some_and(|last| last.unix_seconds == sample.unix_seconds) {
            return;
        }
        self.samples.push_back(sample);
        if self.samples.len() > KEPT {
            self.samples.pop_front();
        }
    }

    pub fn told(&mut self, status: Status) {
        self.status = Some(status);
    }

    /// Notes why the last look failed; nothing: it did not.
    pub fn failed(&mut self, failure: Option<String>) {
        self.failure = failure;
    }

    /// Takes the counters of all sessions: rates are their differences since the last time. A session that is new
    /// has none yet.
    pub fn sessions(&mut self, sessions: Vec<Session>, at: Instant) {
        let Some(before) = self.counted.take() else {
            self.counted = Some(Counted { at, sessions });
            return;
        };
        let seconds = at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate that is shown rounded")]
        let rate = |now: u64, then: u64| (now.saturating_sub(then) as f64 / seconds).round() as u64;
        let earlier: BTreeMap<u64, &Session> = before.sessions.iter().map(|session| (session.id, session)).collect();
        self.hosts.clear();
        for session in &sessions {
            let name = session.host.clone().unwrap_or_else(|| session.initiator.clone());
            let rates = self.hosts.entry(name).or_default();
            rates.sessions += 1;
            if let Some(then) = earlier.get(&session.id) {
                rates.commands += rate(session.commands, then.commands);
                rates.read_bytes += rate(session.read_bytes, then.read_bytes);
                rates.written_bytes += rate(session.written_bytes, then.written_bytes);
            }
        }
        self.counted = Some(Counted { at, sessions });
    }

    /// Headings of the table.
    pub const fn headings(&self) -> &'static [&'static str] {
        match self.view {
            View::Volumes => &["NAME", "KIND", "I/O PER S", "BYTES PER S", "WORST P99"],
            View::Primitives => &["PRIMITIVE", "PER S", "REFUSED", "BYTES PER S", "KEPT OFF THE WIRE", "P99"],
            View::Hosts => &["HOST", "SESSIONS", "COMMANDS PER S", "READ PER S", "WRITTEN PER S"],
        }
    }

    /// Rows that fit the filter, in the wanted order.
    pub fn rows(&self) -> Vec<Vec<Cell>> {
        let mut rows = match self.view {
            View::Volumes => self.volume_rows(),
            View::Primitives => self.primitive_rows(),
            View::Hosts => self.host_rows(),
        };
        let wanted = self.filter.to_lowercase();
        rows.retain(|row| matches!(row.first(), Some(Cell::Text(name)) if name.to_lowercase().contains(&wanted)));
        rows.sort_by(|one, other| {
            let order = match (one.get(self.order), other.get(self.order)) {
                (Some(one), Some(other)) => one.compare(other),
                _ => std::cmp::Ordering::Equal,
            };
            if self.ascending { order } else { order.reverse() }
        });
        rows
    }

    fn volume_rows(&self) -> Vec<Vec<Cell>> {
        let busiest = self.samples.back().and_then(|sample| sample.busiest.as_deref()).unwrap_or_default();
        let row = |volume: &api::BusySample| {
            vec![
                Cell::Text(volume.name.clone()),
                Cell::Text(volume.kind.clone()),
                Cell::Number(volume.operations),
                Cell::Bytes(volume.bytes),
                Cell::Microseconds(volume.p99_us),
            ]
        };
        busiest.iter().map(row).collect()
    }

    fn primitive_rows(&self) -> Vec<Vec<Cell>> {
        let Some(sample) = self.samples.back() else { return Vec::new() };
        let row = |(name, of): (&String, &api::PrimitiveSample)| {
            vec![
                Cell::Text(name.to_uppercase()),
                Cell::Number(of.commands),
                Cell::Number(of.refused),
                Cell::Bytes(of.bytes),
                Cell::Bytes(of.host_bytes_avoided),
                Cell::Microseconds(of.p99_us),
            ]
        };
        sample.primitives.iter().map(row).collect()
    }

    fn host_rows(&self) -> Vec<Vec<Cell>> {
        let row = |(name, of): (&String, &HostRates)| {
            vec![
                Cell::Text(name.clone()),
                Cell::Number(of.sessions),
                Cell::Number(of.commands),
                Cell::Bytes(of.read_bytes),
                Cell::Bytes(of.written_bytes),
            ]
        };
        self.hosts.iter().map(row).collect()
    }

    /// Does what a key asks for.
    pub fn pressed(&mut self, key: KeyEvent) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Action::Quit } else { Action::Stay };
        }
        if self.is_typing {
            self.typed(key.code);
            return Action::Stay;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Tab => self.show(match self.view {
                View::Volumes => View::Primitives,
                View::Primitives => View::Hosts,
                View::Hosts => View::Volumes,
            }),
            KeyCode::Char('v') => self.show(View::Volumes),
            KeyCode::Char('o') => self.show(View::Primitives),
            KeyCode::Char('h') => self.show(View::Hosts),
            KeyCode::Char('s') => self.order = (self.order + 1) % self.headings().len(),
            KeyCode::Char('r') => self.ascending = !self.ascending,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('/') => self.is_typing = true,
            _ => {}
        }
        Action::Stay
    }

    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) if self.filter.len() < MAX_FILTER => self.filter.push(letter),
            _ => {}
        }
    }

    fn show(&mut self, view: View) {
        if self.view != view {
            (self.view, self.order, self.ascending) = (view, first_order(view), false);
            self.counted = None;
            self.hosts.clear();
        }
    }
}

/// Column by which a view is sorted at first: what is done per second.
const fn first_order(view: View) -> usize {
    match view {
        View::Volumes | View::Hosts => 2,
        View::Primitives => 1,
    }
}
