//! Made-up runs in the laboratory's format: the figures are no measurements. One run has hostile
//! content.

use jiff::Timestamp;
use lab::results::{
    Better, CaseResult, Goal, Machine, Measure, Paper, PaperFigure, Run, SideResult, Subject, Unit, VERSION,
};
use std::collections::BTreeMap;

/// Name that a hostile array reports.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\"'&|`\u{202e}\u{1b}[2J";

fn measure(median: f64, spread: f64, unit: Unit, better: Better) -> Measure {
    Measure { median, low: median * (1.0 - spread), high: median * (1.0 + spread * 1.4), unit, better }
}

fn seconds(median: f64) -> Measure {
    measure(median, 0.08, Unit::Seconds, Better::Lower)
}

fn rate(median: f64) -> Measure {
    measure(median, 0.11, Unit::PerSecond, Better::Higher)
}

fn wire(median: f64) -> Measure {
    measure(median, 0.01, Unit::Bytes, Better::Lower)
}

fn side(measures: &[(&str, Measure)]) -> SideResult {
    SideResult {
        measures: measures.iter().map(|(name, measure)| ((*name).to_owned(), measure.clone())).collect(),
        ..SideResult::default()
    }
}

fn moved(mut side: SideResult, parts: &[(&str, u64)]) -> SideResult {
    side.moved_bytes = parts.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
    side
}

/// Points with a little noise that is the same in every run.
fn line(seconds: f64, step: f64, of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let count = (seconds / step) as u32;
    let mut noise = 12_345_u32;
    let point = |index| {
        noise = noise.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let time = f64::from(index) * step;
        (time, of(time) * (1.0 + (f64::from(noise >> 16) / 65_536.0 - 0.5) * 0.18))
    };
    (0..=count).map(point).collect()
}

fn over_time(mut side: SideResult, name: &str, points: Vec<(f64, f64)>) -> SideResult {
    side.series.insert(name.to_owned(), points);
    side
}

fn goal(what: &str, measured: f64, wanted: f64, reached: bool) -> Goal {
    Goal { what: what.into(), measured: Some(measured), wanted, reached }
}

fn figure(measure: &str, unit: Unit, off: Option<f64>, on: Option<f64>, ratio: Option<f64>) -> PaperFigure {
    PaperFigure { measure: measure.into(), unit, off, on, ratio }
}

fn case(name: &str, title: &str, paper: Paper, off: SideResult, on: SideResult) -> CaseResult {
    CaseResult {
        case: name.into(),
        title: title.into(),
        check_passed: true,
        off,
        on,
        paper,
        seconds: 41.7,
        ..CaseResult::default()
    }
}

fn ats_touch() -> CaseResult {
    let paper = Paper {
        test: "P1, ATS 1".into(),
        system: "IBM Storwize V7000, ESXi 5.1".into(),
        words: "Two hosts, one datastore: A reads 4 KB in sequence, B touches a file without pause. With ATS the reads are as fast as without locks.".into(),
        figures: vec![
            figure("read_iops", Unit::PerSecond, Some(1345.0), Some(6759.0), None),
            figure("conflicts_per_second", Unit::PerSecond, Some(32.0), Some(0.0), None),
        ],
    };
    let conflicts = |median| measure(median, 0.2, Unit::PerSecond, Better::Lower);
    let off = side(&[
        ("read_iops", rate(1296.0)),
        ("conflicts_per_second", conflicts(10_604.0)),
        ("touches_per_second", measure(1901.0, 0.05, Unit::PerSecond, Better::Neither)),
        ("read_p99_seconds", seconds(0.008_154)),
    ]);
    let on = side(&[
        ("read_iops", rate(9570.0)),
        ("conflicts_per_second", conflicts(0.0)),
        ("touches_per_second", measure(3232.0, 0.05, Unit::PerSecond, Better::Neither)),
        ("read_p99_seconds", seconds(0.000_581)),
    ]);
    let off = over_time(off, "read_iops", line(20.0, 0.1, |t| 1300.0 + 300.0 * (t * 0.9).sin()));
    let on = over_time(on, "read_iops", line(20.0, 0.1, |_| 9500.0));
    let baseline = over_time(
        side(&[("read_iops", rate(9816.0)), ("read_p99_seconds", seconds(0.000_55))]),
        "read_iops",
        line(20.0, 0.1, |_| 9800.0),
    );
    let mut case =
        case("ats-touch", "A host reads 4 KiB in sequence while another touches a file without pause", paper, off, on);
    case.others = BTreeMap::from([("baseline".into(), baseline)]);
    case.goals = vec![
        goal("on at least 5 × off in IOPS of the reader", 7.38, 5.0, true),
        goal("on at least 0.95 of the baseline in IOPS of the reader", 0.975, 0.95, true),
        goal("no reservation conflicts with the primitive on", 0.0, 0.0, true),
    ];
    case.notes = vec!["The paper had two servers; here both hosts are tasks of one process with initiator names and sessions of their own.".into()];
    case
}

fn clone_template() -> CaseResult {
    let paper = Paper {
        test: "P1, XCOPY 1".into(),
        system: "IBM Storwize V7000, ESXi 5.1".into(),
        words: "A 100 GB eagerzeroedthick template, a new VM in the same format, three times: 14 % less time, and the host adapter carries nothing instead of about 245 MB/s each way.".into(),
        figures: vec![figure("seconds", Unit::Seconds, None, None, Some(0.86)), figure("wire_bytes_per_second", Unit::BytesPerSecond, Some(490e6), Some(0.0), None)],
    };
    const GIB: f64 = 1_073_741_824.0;
    let wire_rate = |median| measure(median, 0.05, Unit::BytesPerSecond, Better::Lower);
    let off = side(&[
        ("seconds", seconds(6.84)),
        ("wire_sent_bytes", wire(2.0 * GIB * 1.013)),
        ("wire_received_bytes", wire(2.0 * GIB * 1.012)),
        ("wire_bytes_per_second", wire_rate(627e6)),
        ("host_cpu_seconds", seconds(4.1)),
        ("commands", measure(4102.0, 0.0, Unit::Count, Better::Neither)),
    ]);
    let on = side(&[
        ("seconds", seconds(0.061)),
        ("wire_sent_bytes", wire(71_310.0)),
        ("wire_received_bytes", wire(39_902.0)),
        ("wire_bytes_per_second", wire_rate(1.8e6)),
        ("host_cpu_seconds", seconds(0.011)),
        ("commands", measure(514.0, 0.0, Unit::Count, Better::Neither)),
    ]);
    let off = over_time(off, "wire_bytes_per_second", line(6.8, 0.05, |t| if t < 0.15 { 1e8 } else { 6.2e8 }));
    let on = over_time(on, "wire_bytes_per_second", line(0.06, 0.02, |_| 1.8e6));
    let off = moved(off, &[("switched off on this host", 2 << 30)]);
    let on = moved(
        on,
        &[("offloaded", (2 << 30) - (3 << 20)), ("refused with sense 5h/26h/04h", 2 << 20), ("misaligned", 1 << 20)],
    );
    let mut case = case(
        "clone-template",
        "An eagerzeroedthick template becomes a new disk of the same format on the same datastore",
        paper,
        off,
        on,
    );
    case.goals = vec![
        goal("on at least 20 × as fast as off", 112.1, 20.0, true),
        goal("bytes on the wire of off that on may use, at most", 0.000_026, 0.001, true),
    ];
    case
}

fn eager_zero() -> CaseResult {
    let paper = Paper {
        test: "P1, WS 1".into(),
        system: "IBM Storwize V7000, ESXi 5.1".into(),
        words: "A 100 GB eagerzeroedthick disk: the interface is saturated without, idle with.".into(),
        figures: Vec::new(),
    };
    let off = moved(
        side(&[("seconds", seconds(5.31)), ("wire_sent_bytes", wire(2.17e9))]),
        &[("switched off on this host", 2 << 30)],
    );
    let on =
        moved(side(&[("seconds", seconds(0.118)), ("wire_sent_bytes", wire(41_200.0))]), &[("offloaded", 2 << 30)]);
    let mut case = case("eager-zero", "An eagerzeroedthick disk is created", paper, off, on);
    case.goals = vec![goal("on at least 50 × as fast as off", 45.0, 50.0, false)];
    case
}

fn warm_up() -> CaseResult {
    let paper = Paper {
        test: "P2, warm-up".into(),
        system: "Hitachi AMS 2300, ESX 4.1".into(),
        words: "100 % random writes at full rate: 120 minutes until stable on a zeroedthick disk, stable from the start on an eagerzeroedthick one.".into(),
        figures: vec![figure("seconds_until_stable", Unit::Seconds, Some(7200.0), Some(0.0), None)],
    };
    let until = |median| measure(median, 0.1, Unit::Seconds, Better::Lower);
    let off = over_time(
        side(&[("seconds_until_stable", until(33.0)), ("write_iops", rate(4100.0))]),
        "write_iops",
        line(60.0, 0.25, |t| 6000.0 * (1.0 - 0.85 * (-t / 14.0).exp())),
    );
    let on = over_time(
        side(&[("seconds_until_stable", until(0.0)), ("write_iops", rate(6150.0))]),
        "write_iops",
        line(60.0, 0.25, |_| 6150.0),
    );
    case("warm-up", "Random writes at full rate to a fresh disk", paper, off, on)
}

fn space() -> CaseResult {
    let paper = Paper {
        test: "P2, zero page reclaim".into(),
        system: "Hitachi AMS 2300, ESX 4.1".into(),
        words: "100 GB disk with 8 GB used: 100 → 8 GB after zero page reclaim.".into(),
        figures: vec![figure("consumed_bytes", Unit::Bytes, Some(107e9), Some(8.6e9), None)],
    };
    let off = side(&[("consumed_bytes", wire(1_073_741_824.0))]);
    let on = side(&[
        ("consumed_bytes", wire(85_983_232.0)),
        ("freed_share", measure(1.0, 0.0, Unit::Ratio, Better::Higher)),
    ]);
    let mut case = case("zero-page-reclaim", "A disk full of zeros is reclaimed", paper, off, on);
    case.check_passed = false;
    case.failures = vec!["round 2: 4 KiB at byte 1 048 576 read as 00h, expected 5Ah".into()];
    case
}

fn skipped() -> CaseResult {
    let paper = Paper {
        test: "P3, UNMAP".into(),
        system: "QSAN XCubeSAN, ESXi 6".into(),
        words: "200 GB thin volume, 50 GB written and moved away: nothing comes back until zero-filled by hand.".into(),
        figures: vec![figure("returned_bytes", Unit::Bytes, Some(0.0), Some(53.7e9), None)],
    };
    let mut case = case(
        "thin-reclaim",
        "Space of a disk that was moved away comes back",
        paper,
        SideResult::default(),
        SideResult::default(),
    );
    case.check_passed = false;
    case.skipped = Some("the logical unit does not announce UNMAP (VPD page B2h, LBPU 0)".into());
    case
}

fn nas_clone() -> CaseResult {
    let paper = Paper {
        test: "P4".into(),
        system: "EMC VNX for File, ESXi 5.0".into(),
        words: "Clone of a powered-off VM's disk on NFS: 19:03 → 15:08, network −99 %.".into(),
        figures: vec![figure("seconds", Unit::Seconds, Some(1143.0), Some(908.0), None)],
    };
    let mut case = case(
        "nas-clone",
        "A file is cloned by the file system",
        paper,
        side(&[("seconds", seconds(2.9))]),
        side(&[("seconds", seconds(0.0041))]),
    );
    case.notes = vec!["xfs: FICLONE works; copy_file_range shares extents.".into()];
    case
}

/// A normal run with everything that a reader must notice: a missed goal, a failed check, a case
/// that did not run.
pub(crate) fn run() -> Run {
    let started: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
    let ended: Timestamp = "2026-11-22T10:14:31Z".parse().unwrap();
    Run {
        version: VERSION,
        windlass: "0.1.0 (17c68b1)".into(),
        started,
        ended,
        machine: Machine {
            processors: 2,
            processor: "AMD EPYC 7B13".into(),
            memory_bytes: 25_014_345_728,
            system: "Linux 6.18.0".into(),
        },
        pairs: 3,
        size: "small".into(),
        subjects: vec![Subject {
            url: "iscsi://127.0.0.1:3260/iqn.2026-01.org.example:array/0".into(),
            vendor: "WINDLASS".into(),
            product: "VOLUME".into(),
            revision: "0001".into(),
            naa: Some("6001405a1b2c3d4e5f60718293a4b5c6".into()),
            size_bytes: 17_179_869_184,
        }],
        cases: vec![ats_touch(), clone_template(), eager_zero(), warm_up(), space(), skipped(), nas_clone()],
        ended_early: None,
    }
}

/// A run of an array that is slower and lacks a primitive.
pub(crate) fn other(vendor: &str, product: &str, slower: f64) -> Run {
    let mut run = run();
    for subject in &mut run.subjects {
        (subject.vendor, subject.product) = (vendor.into(), product.into());
    }
    for case in &mut run.cases {
        for side in [&mut case.off, &mut case.on] {
            for measure in side.measures.values_mut() {
                let times = if measure.better == Better::Higher { 1.0 / slower } else { slower };
                for value in [&mut measure.low, &mut measure.median, &mut measure.high] {
                    *value *= times;
                }
            }
        }
    }
    if let Some(case) = run.cases.iter_mut().find(|case| case.case == "clone-template") {
        case.on = SideResult::default();
        case.skipped = Some("EXTENDED COPY is not supported".into());
    }
    run.cases.retain(|case| case.case != "nas-clone");
    run
}

/// A run with hostile texts in every place that an array or a file can fill, and with numbers that
/// are not finite.
pub(crate) fn hostile() -> Run {
    let mut run = run();
    let text = || HOSTILE.to_owned();
    run.windlass = text();
    run.size = text();
    run.ended_early = Some(text());
    run.machine.processor = text();
    run.machine.system = text();
    run.subjects = vec![Subject {
        url: text(),
        vendor: text(),
        product: text(),
        revision: text(),
        naa: Some(text()),
        size_bytes: u64::MAX,
    }];
    for case in &mut run.cases {
        case.case = format!("{HOSTILE}{}", case.case);
        case.title = text();
        case.notes.push(text());
        case.failures.push(text());
        case.skipped = Some(text());
        case.paper.test = text();
        case.paper.system = text();
        case.paper.words = text();
        case.goals.push(goal(HOSTILE, f64::INFINITY, f64::NAN, false));
        let strange = measure(f64::NAN, 0.1, Unit::Seconds, Better::Lower);
        case.off.measures.insert(text(), strange.clone());
        case.on
            .measures
            .insert(text(), Measure { median: -1.0, low: f64::NEG_INFINITY, high: f64::INFINITY, ..strange });
        case.off.moved_bytes.insert(text(), u64::MAX);
        case.off.moved_bytes.insert("another".into(), u64::MAX);
        case.off.series.insert(text(), vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 2.0)]);
        case.off.series.insert("one".into(), vec![(0.0, 0.0)]);
        case.others.insert(text(), side(&[("seconds", seconds(1e300))]));
    }
    run
}
