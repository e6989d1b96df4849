//! The tables have every code that the sources have, and no other.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use explain::{Entry, Kind};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn codes(kind: Kind) -> BTreeSet<String> {
    kind.entries().iter().map(|entry: &Entry| entry.code.to_owned()).collect()
}

/// Sources below a folder, without their tests.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![crates().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.file_stem().unwrap().to_str().unwrap() {
                "tests" => {}
                _ if path.is_dir() => folders.push(path),
                _ if path.extension().is_some_and(|extension| extension == "rs") => {
                    let text = fs::read_to_string(&path).unwrap();
                    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
                    found.push((path, text));
                }
                _ => {}
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

/// Texts in quotes that look like codes: words of small letters, with hyphens between.
fn literals(text: &str) -> BTreeSet<String> {
    let looks_like_code = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.lines()
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(looks_like_code)
        .map(str::to_owned)
        .collect()
}

/// The body of the function that names the conditions of an error.
fn function_of_codes(text: &str) -> Option<&str> {
    let start = ["fn code_and_class(", "fn parts(", "fn code("].iter().find_map(|name| text.find(name))?;
    let body = &text[start..];
    Some(&body[..body.find("\n    }\n").unwrap_or(body.len())])
}

#[test]
fn every_condition_of_a_request_is_explained() {
    let known = codes(Kind::Problem);
    let (mut conditions, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["array/control/src", "array/identity/src", "array/notification/src", "array/daemon/src"] {
        for (path, text) in sources(folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if !matches!(name, "error.rs" | "refusal.rs" | "problem.rs") {
                continue;
            }
            let body =
                function_of_codes(&text).unwrap_or_else(|| panic!("{} has no function of codes", path.display()));
            for code in literals(body) {
                if !known.contains(&code) {
                    unknown.insert((path.clone(), code.clone()));
                }
                conditions.insert(code);
            }
        }
    }
    assert!(unknown.is_empty(), "without an explanation: {unknown:#?}");
    assert!(conditions.len() > 70, "{} conditions: the sources look different", conditions.len());
}

#[test]
fn every_explained_condition_exists() {
    let folders = [
        "array/control/src",
        "array/identity/src",
        "array/notification/src",
        "array/daemon/src",
        "array/cli/src",
        "array/windlass/src",
        "kit/virtual_disk/src",
    ];
    let all: BTreeSet<_> = folders.into_iter().flat_map(sources).flat_map(|(_, text)| literals(&text)).collect();
    let gone: Vec<_> = codes(Kind::Problem).into_iter().filter(|code| !all.contains(code)).collect();
    assert!(gone.is_empty(), "explained, and nowhere in the sources: {gone:?}");
    let of_control: BTreeSet<_> =
        sources("array/control/src").into_iter().flat_map(|(_, text)| literals(&text)).collect();
    for kind in [Kind::Event, Kind::Alert] {
        let gone: Vec<_> = codes(kind).into_iter().filter(|code| !of_control.contains(code)).collect();
        assert!(gone.is_empty(), "explained, and nowhere in the sources: {gone:?}");
    }
}

/// Story: `low-space` and `size-changed` were shown, and nothing explained them.
#[test]
fn every_warning_is_explained_and_no_other() {
    let mut warnings = BTreeSet::new();
    for (path, text) in ["array/control/src", "array/daemon/src"].into_iter().flat_map(sources) {
        for start in ["Warning { code: ", ".warns("] {
            let literal = |rest: &str| rest.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned);
            warnings.extend(text.split(start).skip(1).filter_map(literal));
        }
        if path.ends_with("host_warnings.rs") {
            let literal = |rest: &str| rest.split('"').next().map(str::to_owned);
            warnings.extend(text.split("warning(\"").skip(1).filter_map(literal));
        }
        // The state of the pool chooses among several.
        if path.ends_with("pools/warnings.rs") {
            let (_, body) = text.split_once("fn space_warnings(").unwrap();
            let choice = body.split("vec![Warning { code, message }]").next().unwrap();
            warnings.extend(literals(choice));
        }
    }
    assert!(["low-space", "size-changed", "kept-in-trash"].iter().all(|code| warnings.contains(*code)), "{warnings:?}");
    assert_eq!(warnings, codes(Kind::Warning));
}

#[test]
fn refusals_are_the_reasons_of_the_offload_log() {
    let reasons: BTreeSet<_> = unit::Reason::ALL.iter().map(|reason| reason.code().to_owned()).collect();
    assert_eq!(codes(Kind::Refusal), reasons);
}

#[test]
fn sense_data_is_what_the_array_sends() {
    let (_, text) = sources("protocol/scsi/src").into_iter().find(|(path, _)| path.ends_with("src/sense.rs")).unwrap();
    let constants: BTreeSet<_> =
        text.split("pub const ").filter_map(|part| part.split("Self(0x").nth(1)?.get(..4)).map(str::to_owned).collect();
    let constants: BTreeSet<_> =
        constants.into_iter().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())).collect();
    assert!(constants.len() > 50, "{constants:?}");
    let explained: BTreeSet<_> =
        codes(Kind::Sense).iter().map(|code| format!("{}{}", &code[3..5], &code[6..8])).collect();
    assert_eq!(explained, constants);
}
