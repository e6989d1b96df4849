//! Reports of made-up runs. Each test leaves its page in the target's temporary directory for
//! inspection.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod sample;

use lab::results::Run;
use std::path::Path;

fn keep(name: &str, text: &str) {
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).unwrap();
}

/// Checks that elements are closed, in order. Void elements of HTML need no end tag.
#[track_caller]
fn assert_well_formed(html: &str) {
    const VOID: [&str; 2] = ["meta", "br"];
    let mut open: Vec<&str> = Vec::new();
    let body = html.split_once("<body>").unwrap().1;
    for piece in body.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("no end of <{piece}"));
        let name = tag.split_whitespace().next().unwrap();
        match name.strip_prefix('/') {
            Some("html" | "body") => {}
            Some(name) => assert_eq!(open.pop(), Some(name), "before {piece}"),
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

/// Checks that identifiers are unique, and that all references find one.
#[track_caller]
fn assert_linked(html: &str) {
    let values = |key: &str| -> Vec<String> {
        let start = format!(" {key}=\"");
        html.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let mut ids = values("id");
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an identifier twice");
    let labels = values("aria-labelledby");
    let wanted = labels.iter().flat_map(|value| value.split(' ')).map(str::to_owned);
    for id in wanted.chain(values("href").iter().map(|href| href.strip_prefix('#').unwrap().to_owned())) {
        assert!(ids.contains(&id), "no element {id}");
    }
    assert!(!labels.is_empty());
}

#[track_caller]
fn assert_self_contained(html: &str) {
    for word in ["<script", "<link", "<img", "src=", "http://", "https://", "url(", "@import", "javascript:"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_run_is_one_page_with_the_papers_beside() {
    let html = lab_report::html(&sample::run());
    keep("run.html", &html);
    assert_well_formed(&html);
    assert_linked(&html);
    assert_self_contained(&html);
    let plain = html.replace(['\u{202f}', '\u{a0}'], " ");
    for expected in [
        "5 of 7 cases passed every check, 1 failed, 1 did not complete; 5 of 6 goals reached.",
        "WINDLASS VOLUME 0001, 16 GiB, iscsi://127.0.0.1:3260/",
        "2 processors, AMD EPYC 7B13, 23.3 GiB of memory, Linux 6.18.0",
        "2026-11-22 10:00 UTC, 14 min 31 s",
        "IBM Storwize V7000",
        "7.38 × as much here; 5.03 × as much in the paper",
        "112 × as fast here; 1.16 × as fast in the paper",
        "round 2: 4 KiB at byte 1 048 576 read as 00h, expected 5Ah",
        "Did not complete: the logical unit does not announce UNMAP",
        "2 GiB by the host: switched off on this host",
        "✗ missed",
        "prefers-color-scheme: dark",
    ] {
        assert!(plain.contains(expected), "{expected}");
    }
    // Every drawing has a table.
    assert!(html.matches("<details").count() >= 7);
}

#[test]
fn hostile_texts_and_numbers_do_no_harm() {
    let run = sample::hostile();
    for html in [lab_report::html(&run), lab_report::compare_html(&[run.clone(), run.clone()])] {
        keep("hostile.html", &html);
        assert_well_formed(&html);
        assert_self_contained(&html);
        assert!(!html.contains('\u{202e}') && !html.contains('\u{1b}'));
        let svg: String = html.split("<svg").skip(1).map(|rest| rest.split("</svg>").next().unwrap()).collect();
        let numbers = svg.split('"').skip(1).step_by(2).collect::<Vec<_>>();
        assert!(!numbers.iter().any(|value| value.contains("NaN") || value.contains("inf")), "{numbers:?}");
    }
    for markdown in [lab_report::markdown(&run), lab_report::compare_markdown(&[run.clone(), run])] {
        assert!(!markdown.contains("<script") && !markdown.contains('\u{1b}'));
    }
}

#[test]
fn arrays_stand_side_by_side() {
    let runs = [
        sample::run(),
        sample::other("IET", "VIRTUAL-DISK", 2.1),
        sample::other("FreeBSD", "iSCSI DISK", 3.4),
        sample::other("LIO-ORG", "disk", 1.3),
    ];
    let html = lab_report::compare_html(&runs);
    keep("compare.html", &html);
    assert_well_formed(&html);
    assert_linked(&html);
    assert_self_contained(&html);
    assert!(html.contains("Storage offload of 4 arrays") && html.contains("EXTENDED COPY is not supported"));
    let markdown = lab_report::compare_markdown(&runs);
    keep("compare.md", &markdown);
    assert!(
        markdown
            .contains("| case | measure | WINDLASS VOLUME | IET VIRTUAL-DISK | FreeBSD iSCSI DISK | LIO-ORG disk |"),
        "{markdown}"
    );
    let twice = lab_report::compare_markdown(&[sample::run(), sample::run()]);
    assert!(twice.contains("| WINDLASS VOLUME | WINDLASS VOLUME (2) |"), "{twice}");
}

#[test]
fn markdown_has_every_number() {
    let markdown = lab_report::markdown(&sample::run()).replace(['\u{202f}', '\u{a0}'], " ");
    keep("run.md", &markdown);
    assert!(
        markdown.contains("| `ats-touch` | Read IOPS | 1 296/s | 9 570/s | 7.38 × | 5.03 × | passed |"),
        "{markdown}"
    );
    assert!(markdown.contains("| eager-zero | on at least 50 × as fast as off | 45 | 50 | **missed** |"), "{markdown}");
    assert!(markdown.contains("- **failed:** round 2"), "{markdown}");
    // Every table has the same number of columns in all rows.
    for table in markdown.split("\n\n").filter(|block| block.starts_with("| ")) {
        let mut bars: Vec<_> = table.trim_end().lines().map(|line| line.matches('|').count()).collect();
        bars.dedup();
        assert_eq!(bars.len(), 1, "{table}");
    }
}

#[test]
fn nothing_ran() {
    let nothing =
        Run { cases: Vec::new(), subjects: Vec::new(), ended_early: Some("cancelled".into()), ..sample::run() };
    let html = lab_report::html(&nothing);
    assert_well_formed(&html);
    assert!(html.contains("No case ran.") && html.contains("The run ended before its last case: cancelled"));
    assert!(lab_report::markdown(&nothing).ends_with("No case ran.\n"));
    assert!(lab_report::compare_html(&[]).contains("No case ran."));
    assert!(lab_report::compare_markdown(&[]).contains("0 arrays"));
}
