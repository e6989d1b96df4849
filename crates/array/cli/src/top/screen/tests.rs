use super::{level, lines};
use crate::top::View;
use crate::top::state::{Action, KEPT, State};
use api::{ArraySample, BusySample, PrimitiveSample, Sample, Session};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};
use uuid::Uuid;

fn sample(second: i64) -> Sample {
    let busy = |name: &str, operations, p99_us| BusySample {
        kind: "volume".to_owned(),
        id: Uuid::nil(),
        name: name.to_owned(),
        operations,
        bytes: operations * 4096,
        p99_us,
    };
    let array = ArraySample {
        reads: 610,
        writes: 202,
        read_bytes: 38 << 20,
        offloaded_bytes: 3 << 30,
        p50_us: Some(210),
        p99_us: Some(1200),
        busy_per_mille: Some(180),
        ..ArraySample::default()
    };
    let xcopy = PrimitiveSample { commands: 12, bytes: 3 << 30, ..PrimitiveSample::default() };
    Sample {
        unix_seconds: second,
        array: Some(array),
        primitives: [("xcopy".to_owned(), xcopy)].into(),
        busiest: Some(vec![
            busy("db", 10, 900),
            busy("web", 700, 100),
            busy("evil\u{1b}[2J", 1, 1),
            busy(&"long".repeat(60), 2, 1),
        ]),
        ..Sample::default()
    }
}

fn shown(state: &State, width: u16, height: u16) -> Vec<String> {
    lines(state, width, height).iter().map(ToString::to_string).collect()
}

fn press(state: &mut State, keys: &str) -> Action {
    keys.chars().fold(Action::Stay, |_, key| {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            key => KeyCode::Char(key),
        };
        state.pressed(KeyEvent::new(code, KeyModifiers::NONE))
    })
}

/// Names of the rows of the table.
fn names(state: &State) -> Vec<String> {
    let all = shown(state, 100, 30);
    let heading = all.iter().position(|line| line.contains("PER S")).unwrap_or_default();
    let rows = all[heading + 1..all.len() - 1].iter().filter(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_line_fits_the_terminal() {
    let mut state = State::new(View::Volumes);
    for second in 0..300 {
        state.sampled(sample(second));
    }
    assert_eq!(state.samples().len(), KEPT);
    for (width, height) in [(80, 24), (160, 50), (20, 5), (1, 1), (0, 0)] {
        let all = shown(&state, width, height);
        assert!(all.len() <= usize::from(height.max(1)), "{width} × {height}: {all:#?}");
        assert!(all.iter().all(|line| line.chars().count() <= usize::from(width)), "{width} × {height}: {all:#?}");
    }
    let all = shown(&state, 80, 24).join("\n");
    for part in ["reads 610/s 38 MiB/s", "p99 1.20 ms", "depth 0", "offloaded 3 GiB/s", "cpu 18 %", "web", "q quit"] {
        assert!(all.contains(part), "{part:?} in\n{all}");
    }
    assert!(!all.contains('\u{1b}'), "{all:?}");
}

#[test]
fn rows_are_sorted_and_filtered_by_keys() {
    let mut state = State::new(View::Volumes);
    state.sampled(sample(1));
    assert_eq!(names(&state)[..2], ["web", "db"]);
    press(&mut state, "ss");
    assert_eq!(names(&state)[..2], ["db", "web"], "by p99");
    press(&mut state, "r");
    assert_eq!(names(&state)[2..], ["web", "db"]);
    press(&mut state, "/we");
    assert_eq!(names(&state), ["web"]);
    assert!(shown(&state, 80, 24).last().is_some_and(|line| line.starts_with("filter: we_")));
    // A letter of the filter is no key.
    press(&mut state, "q");
    assert_eq!(names(&state), ["nothing"]);
    press(&mut state, "\u{1b}");
    assert_eq!(names(&state).len(), 4);
    assert_eq!(press(&mut state, "q"), Action::Quit);
}

#[test]
fn views_are_chosen_and_a_pause_is_said() {
    let mut state = State::new(View::Volumes);
    state.sampled(sample(1));
    press(&mut state, "\t");
    assert_eq!(names(&state), ["XCOPY"]);
    press(&mut state, "\t");
    assert_eq!(names(&state), ["no"]);
    press(&mut state, "p");
    assert!(state.is_paused() && shown(&state, 80, 24)[0].contains("PAUSED"));
    state.failed(Some("error: the array does not answer (code: unreachable)\nhelp: x".to_owned()));
    assert!(shown(&state, 120, 24)[0].ends_with("(code: unreachable)"), "{:?}", shown(&state, 120, 24)[0]);
}

#[test]
fn rates_of_hosts_are_differences() {
    let session = |id, host: Option<&str>, commands| Session {
        id,
        initiator: "iqn.x:h".to_owned(),
        host: host.map(str::to_owned),
        portal: String::new(),
        peer_address: String::new(),
        since: jiff::Timestamp::UNIX_EPOCH,
        last_io: None,
        commands,
        read_bytes: commands * 4096,
        written_bytes: 0,
        mss_bytes: None,
        parameters: api::SessionParameters::default(),
    };
    let (mut state, start) = (State::new(View::Hosts), Instant::now());
    state.sessions(vec![session(1, Some("esx1"), 1000), session(2, Some("esx1"), 500)], start);
    assert_eq!(names(&state), ["no"]);
    let later = start + Duration::from_secs(2);
    // The third session is new: what it did before is not of the last second.
    let now = vec![session(1, Some("esx1"), 3000), session(2, Some("esx1"), 500), session(3, None, 9000)];
    state.sessions(now, later);
    let all = shown(&state, 100, 30);
    let row = |name: &str| all.iter().find(|line| line.starts_with(name)).cloned().unwrap_or_default();
    assert_eq!(row("esx1").split_whitespace().collect::<Vec<_>>(), ["esx1", "2", "1000", "3.9", "MiB", "0", "B"]);
    assert_eq!(row("iqn.x:h").split_whitespace().nth(2), Some("0"));
}

#[test]
fn small_values_are_seen_and_the_largest_is_full() {
    assert_eq!([level(0, 100), level(1, 100), level(100, 100), level(0, 0)], [' ', '▁', '█', ' ']);
    assert_eq!(level(u64::MAX, u64::MAX), '█');
}
