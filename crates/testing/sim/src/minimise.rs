//! Minimiser of a failing list of steps: removes as many steps as possible (Zeller's ddmin), then
//! simplifies the remaining ones. Every candidate is executed, so the result fails by construction.

use crate::step::{Inside, Numbered, Pattern, Request, Step};
use std::time::{Duration, Instant};

/// Limits of executions and of time.
const EXECUTIONS: u32 = 6_000;
const TIME: Duration = Duration::from_secs(60);

/// Returns the shortest list found for which `fails` is still true.
pub(crate) fn minimise(steps: Vec<Numbered>, fails: &mut dyn FnMut(&[Numbered]) -> bool) -> Vec<Numbered> {
    let mut search = Search { fails, left: EXECUTIONS, until: Instant::now() + TIME };
    let mut steps = steps;
    loop {
        let before = (steps.len(), search.left);
        steps = search.leave_out(steps);
        steps = search.simplify(steps);
        if steps.len() == before.0 || search.is_over() {
            return steps;
        }
    }
}

struct Search<'a> {
    fails: &'a mut dyn FnMut(&[Numbered]) -> bool,
    left: u32,
    until: Instant,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.left == 0 || Instant::now() > self.until
    }

    fn try_out(&mut self, candidate: &[Numbered]) -> bool {
        if self.is_over() {
            return false;
        }
        self.left -= 1;
        (self.fails)(candidate)
    }

    /// Removes pieces, large ones first.
    fn leave_out(&mut self, mut steps: Vec<Numbered>) -> Vec<Numbered> {
        let mut piece = steps.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            let mut shorter = false;
            while at < steps.len() {
                let end = (at + piece).min(steps.len());
                let mut candidate = steps[..at].to_vec();
                candidate.extend_from_slice(&steps[end..]);
                if self.try_out(&candidate) {
                    steps = candidate;
                    shorter = true;
                } else {
                    at = end;
                }
            }
            if self.is_over() || (piece == 1 && !shorter) {
                return steps;
            }
            if piece > 1 {
                piece = piece.div_ceil(2);
            }
        }
    }

    fn simplify(&mut self, mut steps: Vec<Numbered>) -> Vec<Numbered> {
        for at in 0..steps.len() {
            'again: loop {
                for step in simpler(&steps[at].step) {
                    let mut candidate = steps.clone();
                    candidate[at].step = step;
                    if self.try_out(&candidate) {
                        steps = candidate;
                        continue 'again;
                    }
                }
                break;
            }
        }
        steps
    }
}

/// Simpler variants of a step.
fn simpler(step: &Step) -> Vec<Step> {
    let mut out = Vec::new();
    match step {
        Step::Submit(request) => out.extend(simpler_requests(request).into_iter().map(Step::Submit)),
        Step::Complete { count, background } => {
            if *background > 0 {
                out.push(Step::Complete { count: *count, background: 0 });
            }
            if *count > 1 {
                out.push(Step::Complete { count: count / 2, background: *background });
                out.push(Step::Complete { count: count - 1, background: *background });
            }
        }
        Step::Pump { background } if *background > 0 => out.push(Step::Pump { background: background / 2 }),
        Step::Crash { inside } if !inside.is_empty() => {
            for leave in 0..inside.len() {
                let left = inside.iter().enumerate().filter(|(i, _)| *i != leave).map(|(_, inside)| *inside);
                out.push(Step::Crash { inside: left.collect() });
            }
            for (i, one) in inside.iter().enumerate().filter(|(_, one)| one.checkpoint) {
                let mut inside = inside.clone();
                inside[i] = Inside { checkpoint: false, ..*one };
                out.push(Step::Crash { inside });
            }
        }
        _ => {}
    }
    out
}

fn simpler_requests(request: &Request) -> Vec<Request> {
    let mut out = Vec::new();
    match request {
        Request::Write { object, start, length, tag, pattern, forced } => {
            let write = |start, length, pattern, forced| Request::Write {
                object: *object,
                start,
                length,
                tag: *tag,
                pattern,
                forced,
            };
            if *pattern == Pattern::Mixed {
                out.push(write(*start, *length, Pattern::Data, *forced));
            }
            if *forced {
                out.push(write(*start, *length, *pattern, false));
            }
            if start % 8 != 0 || length % 8 != 0 {
                out.push(write(start / 8 * 8, length.next_multiple_of(8), *pattern, *forced));
            }
            for shorter in [8, length / 2, length.saturating_sub(8), length.saturating_sub(1)] {
                if shorter > 0 && shorter < *length {
                    out.push(write(*start, shorter, *pattern, *forced));
                }
            }
        }
        Request::Zero { object, ranges, forced } if ranges.len() > 1 => {
            for range in ranges {
                out.push(Request::Zero { object: *object, ranges: vec![*range], forced: *forced });
            }
        }
        Request::Capture { source, capture, ranges } if ranges.len() > 1 => {
            for range in ranges {
                out.push(Request::Capture { source: *source, capture: *capture, ranges: vec![*range] });
            }
        }
        Request::Clone { source, from, destination, to, length } => {
            for shorter in [8, length / 2, length.saturating_sub(8)] {
                if shorter > 0 && shorter < *length {
                    let (source, from, destination, to) = (*source, *from, *destination, *to);
                    out.push(Request::Clone { source, from, destination, to, length: shorter });
                }
            }
        }
        Request::Read { object, start, length } if *length > 8 => {
            out.push(Request::Read { object: *object, start: *start, length: length / 2 });
        }
        Request::Transaction { changes, picky, durable } => {
            for at in 0..changes.len() {
                let mut left = changes.clone();
                left.remove(at);
                out.push(Request::Transaction { changes: left, picky: *picky, durable: *durable });
            }
            if *picky {
                out.push(Request::Transaction { changes: changes.clone(), picky: false, durable: *durable });
            }
        }
        Request::Catalog(changes) if changes.len() > 1 => {
            for leave in 0..changes.len() {
                let left = changes.iter().enumerate().filter(|(i, _)| *i != leave).map(|(_, change)| change.clone());
                out.push(Request::Catalog(left.collect()));
            }
        }
        _ => {}
    }
    out
}
