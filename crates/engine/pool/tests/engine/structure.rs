//! The structure of the crate, by reading its source: imports run one way, state is private to its folder, nothing grows without bound.
//!
//! A module is a room and a path that begins with `crate::` an arrow. Paths of tests do not count. Each check is shown to fail on a
//! source that breaks its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Most fields of a struct.
const MOST_FIELDS: usize = 20;
/// Most lines of all but a hundredth of the functions.
const MOST_LINES: usize = 60;

/// Text of each module by its path.
type Sources = BTreeMap<String, String>;
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn sources() -> Sources {
    let mut sources = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    sources
}

fn read(folder: &Path, path: &str, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") };
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), &join(&name), sources);
        } else if let Some(name) = name.strip_suffix(".rs").filter(|name| !name.ends_with("tests")) {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let module = if name == "mod" { path.to_owned() } else { join(name) };
            sources.insert(module, code(&text));
        }
    }
}

/// A source without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path after `crate::`, with braces taken apart.
fn paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        let (base, rest) = rest.split_at(end);
        match (base.strip_suffix("::"), rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))) {
            (Some(base), Some((names, _))) => {
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                found.extend(names.map(|name| format!("{base}::{name}")));
            }
            _ => found.push(base.to_owned()),
        }
    }
    found
}

/// The module that a path leads to: `pub use` of a name is followed.
fn target(path: &str, sources: &Sources) -> Option<String> {
    let (mut module, mut name) = (path, "");
    while !sources.contains_key(module) {
        (module, name) = module.rsplit_once("::")?;
    }
    let name = name.split([':', ' ']).next().unwrap_or_default();
    let exported = sources[module].lines().filter_map(|line| line.trim().strip_prefix("pub use ")).find(|line| {
        !name.is_empty() && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    });
    let through = exported.and_then(|line| line.split("::").next()).map(|child| format!("{module}::{child}"));
    Some(through.filter(|through| sources.contains_key(through)).unwrap_or_else(|| module.to_owned()))
}

/// Arrows between modules, or with `folders` between the folders and files at the top.
fn arrows(sources: &Sources, folders: bool) -> Arrows {
    let room = |module: &str| match folders {
        true => module.split("::").next().unwrap_or_default().to_owned(),
        false => module.to_owned(),
    };
    let mut arrows = Arrows::new();
    for (module, text) in sources.iter().filter(|(module, _)| *module != "lib") {
        for to in paths(text).iter().filter_map(|path| target(path, sources)) {
            if room(module) != room(&to) {
                arrows.entry(room(module)).or_default().insert(room(&to));
            }
        }
    }
    arrows
}

/// Rooms from which an arrow leads back to them.
fn circles(arrows: &Arrows) -> Vec<&String> {
    let reaches_itself = |start: &&String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![*start]);
        while let Some(room) = next.pop() {
            next.extend(arrows.get(room).into_iter().flatten().filter(|room| seen.insert(*room)));
        }
        seen.contains(start)
    };
    arrows.keys().filter(|start| reaches_itself(start)).collect()
}

/// Lines of the body that begins at a line: up to the line that closes it with the same indentation.
fn body<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let indentation = lines[at].len() - lines[at].trim_start().len();
    let close = format!("{}}}", " ".repeat(indentation));
    let end = lines[at..].iter().position(|line| line.starts_with(&close));
    lines[at..].iter().take(end.unwrap_or(0) + 1).copied().collect()
}

/// Fields of each struct: where it is, and its lines that declare fields.
fn structs(sources: &Sources) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (module, text) in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_end().ends_with('{')) {
            let Some(name) = line.split_once("struct ").map(|(_, name)| name) else { continue };
            let close = lines[at..].iter().position(|line| line.trim() == "}").unwrap_or(0);
            let fields = lines[at + 1..at + close].iter().map(|field| field.trim().to_owned());
            let fields = fields.filter(|field| field.contains(": ") && !field.starts_with('#')).collect();
            found.push((format!("{module}: {}", name.trim_end_matches(" {")), fields));
        }
    }
    found
}

/// Lines of each function.
fn functions(sources: &Sources) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (module, text) in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let is_function = start.starts_with("fn ")
                || (start.starts_with("pub") || start.starts_with("const fn")) && start.contains("fn ");
            if is_function && start.contains('(') {
                found.push((body(&lines, at).len(), format!("{module}: {start}")));
            }
        }
    }
    found.sort();
    found
}

fn too_open(sources: &Sources) -> Vec<String> {
    let open = |field: &&String| field.starts_with("pub(crate)") || field.starts_with("pub(in crate)");
    let all = structs(sources).into_iter();
    all.flat_map(|(name, fields)| {
        fields.iter().filter(open).map(|field| format!("{name}: {field}")).collect::<Vec<_>>()
    })
    .collect()
}

fn too_large(sources: &Sources) -> Vec<String> {
    structs(sources).into_iter().filter(|(_, fields)| fields.len() > MOST_FIELDS).map(|(name, _)| name).collect()
}

/// The function at the 99th percentile.
fn p99(sources: &Sources) -> (usize, String) {
    let functions = functions(sources);
    functions[(functions.len() * 99).div_ceil(100) - 1].clone()
}

fn fake(modules: &[(&str, &str)]) -> Sources {
    modules.iter().map(|(module, text)| ((*module).to_owned(), code(text))).collect()
}

#[test]
fn imports_run_one_way() {
    let sources = sources();
    assert!(sources.len() > 50, "{:?}", sources.keys());
    for folders in [false, true] {
        let arrows = arrows(&sources, folders);
        assert_eq!(circles(&arrows), Vec::<&String>::new(), "{arrows:#?}");
    }
}

#[test]
fn a_circle_of_imports_is_found() {
    let honest = [("a", "use crate::b::{C, D};"), ("b", "use crate::c::e;"), ("c", "// crate::a::X")];
    assert!(circles(&arrows(&fake(&honest), false)).is_empty());
    let liar = [("a", "use crate::b::{C, D};"), ("b", "fn f() { crate::c::e() }"), ("c", "use crate::a::X;")];
    assert_eq!(circles(&arrows(&fake(&liar), false)), ["a", "b", "c"]);
    // Through a name that a folder hands on, and between folders whose files make no circle.
    let handed_on = [("a", "pub use b::X;"), ("a::b", "use crate::c::Y;"), ("c", "use crate::a::X;")];
    assert_eq!(circles(&arrows(&fake(&handed_on), false)), ["a::b", "c"]);
    let folders = [("a::b", "use crate::c::d::X;"), ("c::d", ""), ("c::e", "use crate::a::f::Y;"), ("a::f", "")];
    assert!(circles(&arrows(&fake(&folders), false)).is_empty());
    assert_eq!(circles(&arrows(&fake(&folders), true)), ["a", "c"]);
}

#[test]
fn state_is_private_to_its_folder() {
    assert_eq!(too_open(&sources()), Vec::<String>::new());
    let liar = fake(&[("a", "struct S {\n    x: u8,\n    pub(crate) y: u8,\n}")]);
    assert_eq!(too_open(&liar), ["a: S: pub(crate) y: u8,"]);
}

#[test]
fn no_struct_has_more_than_twenty_fields() {
    assert_eq!(too_large(&sources()), Vec::<String>::new());
    let fields: String = (0..=MOST_FIELDS).map(|n| format!("    f{n}: u8,\n")).collect();
    assert_eq!(too_large(&fake(&[("a", &format!("struct S {{\n{fields}}}"))])), ["a: S"]);
}

#[test]
fn functions_are_short() {
    let (lines, which) = p99(&sources());
    println!("99 % of the functions have at most {lines} lines");
    assert!(lines <= MOST_LINES, "{lines} lines: {which}");
    let liar = format!("fn f() {{\n{}}}", "    g();\n".repeat(MOST_LINES));
    assert!(p99(&fake(&[("a", &liar)])).0 > MOST_LINES);
}
