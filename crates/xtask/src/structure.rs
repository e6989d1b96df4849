//! `cargo xtask structure`: checks the inside of crates by reading their source. Imports have no
//! cycles, state is private, and structs, functions and the width of lines are limited.
//!
//! A module is a room. A path that begins with `crate::` or `super::` is an arrow to the room that
//! defines the name. A folder that names its own children is no arrow: that is how it is composed.
//! Paths in tests do not count. Each check is shown to fail on a source that breaks its rule.

use crate::tally::Tally;
use crate::width::too_wide_below;
use crate::workspace;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates whose structure is checked.
const CRATES: &[&str] = &[
    "engine/pool",
    "engine/files",
    "engine/pool_files",
    "engine/vfs",
    "front/unit",
    "front/nfs_server",
    "front/replication",
    "front/scsi_target",
    "protocol/iscsi",
    "protocol/nfs",
    "protocol/nfs_state",
    "protocol/onc_rpc",
    "protocol/xdr",
    "array/configuration",
    "array/control",
    "array/daemon",
    "array/history",
    "array/identity",
    "array/notification",
    "array/reactor",
];

/// Crates whose files import each name from the module that defines it, and none through the root,
/// so that each import shows where it leads.
const DIRECT: &[&str] = &["array/control"];

/// Permitted findings, by crate and beginning, each with its reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "engine/pool",
        "circle of files: core::operation core::scan core::scan::index_check core::scan::online_check core::state",
        "the state of the core is composed of what its scans remember, and the scans are steps of the core",
    ),
    (
        "array/control",
        "circle of folders: access control directory effect error events exports facts",
        "the folder of a noun has its documents, below the directory, and its requests, above control",
    ),
    ("front/nfs_server", "open state: testing::", "a client of tests, whose calls they change"),
    ("engine/files", "open state: testing::", "steps of a simulation, and the state that they lead to"),
    ("array/control", "open state: memory::", "an array in memory, whose state tests set"),
];

/// Largest number of fields in a struct.
const MOST_FIELDS: usize = 20;
/// Largest number of lines, for all but a hundredth of the functions.
const MOST_LINES: usize = 60;

/// Text of each module by its path; `lib` is the root.
type Sources = BTreeMap<String, String>;
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Checks every crate of [`CRATES`], one check per crate and rule, and the width of all lines.
pub(crate) fn run() -> Result<Tally> {
    let mut tally = Tally::default();
    for name in CRATES {
        let mut sources = Sources::new();
        read(&workspace::root().join("crates").join(name).join("src"), "", &mut sources)?;
        let mut findings = findings(&sources);
        findings.push(if DIRECT.contains(name) { through_the_root(&sources) } else { Vec::new() });
        for found in findings {
            let left: Vec<_> = found.into_iter().filter(|finding| !is_allowed(name, finding)).collect();
            for finding in &left {
                println!("  crates/{name}: {finding}");
            }
            tally += Tally::one(left.is_empty());
        }
    }
    let too_wide = too_wide_below(&workspace::root().join("crates"))?;
    too_wide.iter().for_each(|line| println!("  {line}"));
    tally += Tally::one(too_wide.is_empty());
    Ok(tally)
}

fn is_allowed(name: &str, finding: &str) -> bool {
    ALLOWED.iter().any(|(crate_, beginning, _)| *crate_ == name && finding.starts_with(beginning))
}

/// Findings by rule.
fn findings(sources: &Sources) -> Vec<Vec<String>> {
    let circle = |folders| {
        let arrows = arrows(sources, folders);
        let what = if folders { "folders" } else { "files" };
        circles(&arrows).into_iter().map(|rooms| format!("circle of {what}: {}", rooms.join(" "))).collect()
    };
    vec![circle(false), circle(true), too_open(sources), too_large(sources), too_long(sources)]
}

fn read(folder: &Path, path: &str, sources: &mut Sources) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") };
        if entry.file_type()?.is_dir() {
            if name != "tests" {
                read(&entry.path(), &join(&name), sources)?;
            }
        } else if let Some(name) = name.strip_suffix(".rs").filter(|name| !name.ends_with("tests")) {
            let text = std::fs::read_to_string(entry.path())?;
            let module = if name == "mod" { path.to_owned() } else { join(name) };
            sources.insert(module, code(&text));
        }
    }
    Ok(())
}

/// Removes comments and tests from a source.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns every path from the crate's root that a module names with `crate::` or `super::`, with
/// braces expanded.
fn paths(module: &str, text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("crate::").into_iter().chain(rest.find("super::")).min() {
        let (mut base, from_root) = (module.to_owned(), rest[at..].starts_with("crate::"));
        rest = &rest[at..];
        if from_root {
            (base, rest) = (String::new(), &rest["crate::".len()..]);
        } else {
            while let Some(parent) = rest.strip_prefix("super::") {
                base = base.rsplit_once("::").map(|(parent, _)| parent.to_owned()).unwrap_or_default();
                rest = parent;
            }
        }
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        let (path, after) = rest.split_at(end);
        rest = after;
        let join = |path: &str| match (base.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => base.clone(),
            (false, false) => format!("{base}::{path}"),
        };
        match (path.strip_suffix("::").or(path.is_empty().then_some("")), braces(after)) {
            (Some(path), Some(names)) => {
                let within = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") };
                found.extend(names.iter().map(|name| join(&within(name))));
            }
            _ => found.push(join(path)),
        }
    }
    found
}

/// Names in the braces at the start of a text, without those in inner braces.
fn braces(text: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix('{')?;
    let (mut depth, mut names, mut name) = (0, Vec::new(), String::new());
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut name)),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    names.push(name);
    let trimmed = names.iter().map(|name| name.trim().split(" as ").next().unwrap_or_default());
    Some(trimmed.filter(|name| !name.is_empty()).map(|name| name.trim_end_matches(':').to_owned()).collect())
}

/// Returns the module that a path leads to; follows `use` of a name in a folder or the root.
fn target(path: &str, sources: &Sources) -> Option<String> {
    let (mut module, mut name) = (path, "");
    while !sources.contains_key(module) {
        (module, name) = module.rsplit_once("::").unwrap_or(("lib", module));
        if module == "lib" {
            break;
        }
    }
    sources.get(module)?;
    let name = name.split([':', ' ']).next().unwrap_or_default();
    let found = if name.is_empty() { None } else { definition(module, name, sources, &mut BTreeSet::new()) };
    Some(found.unwrap_or_else(|| module.to_owned()))
}

/// Returns the module that defines a name of this module: itself, or a child that it re-exports.
fn definition(module: &str, name: &str, sources: &Sources, seen: &mut BTreeSet<String>) -> Option<String> {
    if !seen.insert(module.to_owned()) {
        return None;
    }
    let text = sources.get(module)?;
    if defines(text, name) {
        return Some(module.to_owned());
    }
    let statements = text.split(';').map(str::trim);
    let uses = statements.filter_map(|text| {
        let text = text.rsplit_once("use ").filter(|(before, _)| before.is_empty() || before.ends_with(['\n', ' ']));
        text.map(|(_, path)| path.trim_start_matches("self::"))
    });
    let words = |used: &str| used.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let within = |child: &str| if module == "lib" { child.to_owned() } else { format!("{module}::{child}") };
    for used in uses {
        let (named, every) = (words(used), used.ends_with("::*"));
        let child = used.split("::").next().map(within).filter(|child| sources.contains_key(child));
        let Some(child) = child.filter(|_| named || every) else { continue };
        let deeper = definition(&child, name, sources, seen);
        if deeper.is_some() || named {
            return Some(deeper.unwrap_or(child));
        }
    }
    None
}

/// Whether a source declares a name.
fn defines(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    ["struct ", "enum ", "trait ", "fn ", "const ", "type ", "static "].iter().any(|word| {
        text.split(word).skip(1).any(|rest| rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_word)))
    })
}

/// Returns the arrows between modules, or with `folders` between the top-level folders and files.
fn arrows(sources: &Sources, folders: bool) -> Arrows {
    let room = |module: &str| match folders {
        true => module.split("::").next().unwrap_or_default().to_owned(),
        false => module.to_owned(),
    };
    let mut arrows = Arrows::new();
    for (module, text) in sources.iter().filter(|(module, _)| *module != "lib") {
        for to in paths(module, text).iter().filter_map(|path| target(path, sources)) {
            let own_child = !folders && to.starts_with(&format!("{module}::"));
            if room(module) != room(&to) && to != "lib" && !own_child {
                arrows.entry(room(module)).or_default().insert(room(&to));
            }
        }
    }
    arrows
}

/// Names that a file imports from the root, which has them from a module.
fn through_the_root(sources: &Sources) -> Vec<String> {
    let mut found = Vec::new();
    for (module, text) in sources.iter().filter(|(module, _)| *module != "lib") {
        let is_from_root = |path: &&String| !path.contains("::") && !sources.contains_key(*path);
        let paths = paths(module, text);
        found
            .extend(paths.iter().filter(is_from_root).map(|name| format!("through the root: {module} imports {name}")));
    }
    found
}

/// Rooms that a room leads to, directly or not.
fn reached<'a>(start: &'a String, arrows: &'a Arrows) -> BTreeSet<&'a String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(room) = next.pop() {
        next.extend(arrows.get(room).into_iter().flatten().filter(|room| seen.insert(*room)));
    }
    seen
}

/// Returns the largest sets of rooms that lead to one another.
fn circles(arrows: &Arrows) -> BTreeSet<Vec<String>> {
    let all: BTreeMap<_, _> = arrows.keys().map(|room| (room, reached(room, arrows))).collect();
    let with = |room| {
        let back = |other: &&&String| all.get(*other).is_some_and(|reached| reached.contains(room));
        all[room].iter().filter(back).map(|other| (*other).clone()).collect::<Vec<_>>()
    };
    arrows.keys().map(with).filter(|circle| !circle.is_empty()).collect()
}

/// Returns the lines of the body that begins at a line: up to the closing line with the same
/// indentation.
fn body<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let indentation = lines[at].len() - lines[at].trim_start().len();
    let close = format!("{}}}", " ".repeat(indentation));
    let end = lines[at..].iter().position(|line| line.starts_with(&close));
    lines[at..].iter().take(end.unwrap_or(0) + 1).copied().collect()
}

/// Returns each struct with its module, and its lines that declare fields.
fn structs(sources: &Sources) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (module, text) in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_end().ends_with('{')) {
            let Some(name) = line.split_once("struct ").map(|(_, name)| name) else { continue };
            let close = lines[at..].iter().position(|line| line.trim() == "}").unwrap_or(0);
            let fields = lines[at + 1..at + close].iter().map(|field| field.trim().to_owned());
            let fields = fields.filter(|field| field.contains(": ") && !field.starts_with('#')).collect();
            let name = name.split([' ', '<', '{']).next().unwrap_or_default();
            found.push((format!("{module}::{name}"), fields));
        }
    }
    found
}

/// True if the function that is declared from the first line on has a body: a method that a trait only
/// requires has none.
fn has_body(lines: &[&str]) -> bool {
    let end = lines.iter().map(|line| line.trim_end()).find(|line| line.contains('{') || line.ends_with(';'));
    end.is_some_and(|line| line.contains('{'))
}

/// Returns each function with its number of lines.
fn functions(sources: &Sources) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (module, text) in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let is_function = ["fn ", "async fn ", "const fn "].iter().any(|word| start.starts_with(word))
                || start.starts_with("pub") && start.contains("fn ");
            if is_function && start.contains('(') && has_body(&lines[at..]) {
                found.push((body(&lines, at).len(), format!("{module}: {start}")));
            }
        }
    }
    found.sort();
    found
}

/// Fields through which code outside the folder changes a struct with state of its own: public
/// cells, fields that are visible in the whole crate on purpose, and public fields beside private
/// ones that code outside assigns. Structs with public fields only are plain data.
fn too_open(sources: &Sources) -> Vec<String> {
    let mut found = Vec::new();
    for (name, fields) in structs(sources) {
        let module = name.rsplit_once("::").map_or("", |(module, _)| module);
        let has_private = fields.iter().any(|field| !field.starts_with("pub"));
        for field in &fields {
            let in_crate = field.starts_with("pub(crate) ");
            let is_open = in_crate || field.starts_with("pub ");
            let is_cell = field.contains("Cell<");
            let (declaration, _) = field.split_once(": ").unwrap_or_default();
            let field = declaration.rsplit(' ').next().unwrap_or_default();
            if is_open && (in_crate || is_cell || has_private && is_assigned_outside(module, field, sources)) {
                found.push(format!("open state: {name}.{field}"));
            }
        }
    }
    found
}

/// Whether code outside the folder of a module assigns a field of this name, which no other struct
/// has. The folder of a module at the root is the module with its children.
fn is_assigned_outside(module: &str, field: &str, sources: &Sources) -> bool {
    let declares =
        |line: &String| line.split_once(": ").is_some_and(|(start, _)| start.rsplit(' ').next() == Some(field));
    if structs(sources).iter().filter(|(_, fields)| fields.iter().any(declares)).count() > 1 {
        return false;
    }
    let folder = module.rsplit_once("::").map_or(module, |(folder, _)| folder);
    let is_inside =
        |other: &str| other.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    let assigned = |text: &str| {
        text.split(&format!(".{field} ")).skip(1).any(|rest| {
            let operator = rest.split_whitespace().next().unwrap_or_default();
            operator == "=" || operator.len() == 2 && operator.ends_with('=') && !"=!<>".contains(&operator[..1])
        })
    };
    sources.iter().any(|(other, text)| !is_inside(other) && assigned(text))
}

fn too_large(sources: &Sources) -> Vec<String> {
    let large = structs(sources).into_iter().filter(|(_, fields)| fields.len() > MOST_FIELDS);
    large.map(|(name, fields)| format!("{} fields: {name}", fields.len())).collect()
}

/// Returns the function at the 99th percentile if it is too long.
fn too_long(sources: &Sources) -> Vec<String> {
    let functions = functions(sources);
    let at = (functions.len() * 99).div_ceil(100).saturating_sub(1);
    let long = functions.get(at).filter(|(lines, _)| *lines > MOST_LINES);
    long.map(|(lines, which)| format!("99th percentile of functions: {lines} lines, {which}")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn fake(modules: &[(&str, &str)]) -> Sources {
        modules.iter().map(|(module, text)| ((*module).to_owned(), code(text))).collect()
    }

    fn circles_of(modules: &[(&str, &str)], folders: bool) -> Vec<String> {
        circles(&arrows(&fake(modules), folders)).into_iter().flatten().collect()
    }

    #[test]
    fn the_checked_crates_keep_their_structure() {
        let tally = run().unwrap();
        // One more: the width of lines, in all crates.
        assert_eq!((tally.passed, tally.failed), (6 * CRATES.len() + 1, 0));
    }

    #[test]
    fn a_circle_of_imports_is_found() {
        let honest = [("a", "use crate::b::{C, D};"), ("b", "use crate::c::e;"), ("c", "// crate::a::X")];
        assert!(circles_of(&honest, false).is_empty());
        let liar = [("a", "use crate::b::{C, D};"), ("b", "fn f() { crate::c::e() }"), ("c", "use crate::a::X;")];
        assert_eq!(circles_of(&liar, false), ["a", "b", "c"]);
        // Through a name that a folder re-exports, and between folders whose files form no cycle.
        let handed_on = [("a", "pub use b::X;"), ("a::b", "use crate::c::Y;"), ("c", "use crate::a::X;")];
        assert_eq!(circles_of(&handed_on, false), ["a::b", "c"]);
        let folders = [("a::b", "use crate::c::d::X;"), ("c::d", ""), ("c::e", "use crate::a::f::Y;"), ("a::f", "")];
        assert!(circles_of(&folders, false).is_empty());
        assert_eq!(circles_of(&folders, true), ["a", "c"]);
    }

    /// The root names all nouns by `*`: arrows through it were not seen.
    #[test]
    fn a_circle_through_names_of_the_root_is_found() {
        let root = ("lib", "mod a;\nmod b;\npub use a::*;\npub use b::*;");
        let (a, deep) = (("a", "mod c;\npub use c::C;\nuse crate::B;"), ("a::c", "pub struct C;"));
        assert!(circles_of(&[root, a, deep, ("b", "pub struct B;")], false).is_empty());
        let below = ("b", "use crate::C;\npub struct B;");
        assert!(circles_of(&[root, a, deep, below], false).is_empty());
        assert_eq!(circles_of(&[root, a, deep, below], true), ["a", "b"]);
        let liar = ("a::c", "use crate::B;\npub struct C;");
        assert_eq!(circles_of(&[root, a, liar, below], false), ["a::c", "b"]);
    }

    #[test]
    fn a_name_through_the_root_is_found() {
        let root = ("lib", "mod a;\npub use a::A;");
        let found = |text| through_the_root(&fake(&[root, ("a", "pub struct A;"), ("b", text)]));
        assert!(found("use crate::a::A;\nuse crate::a;\nfn f(_: super::a::A) {}").is_empty());
        assert_eq!(found("use crate::{A, a::B};"), ["through the root: b imports A"]);
        assert_eq!(found("fn f(_: crate::A) {}"), ["through the root: b imports A"]);
    }

    #[test]
    fn a_circle_through_super_is_found() {
        let liar = [("a", ""), ("a::b", "use super::c::X;"), ("a::c", "use super::{d::Y, b::Z};"), ("a::d", "")];
        assert_eq!(circles_of(&liar, false), ["a::b", "a::c"]);
        let up_twice = [("a::b", "use super::super::c::X;"), ("c", "use crate::a::b::{Y, Z};")];
        assert_eq!(circles_of(&up_twice, false), ["a::b", "c"]);
        // A name of the folder that another child defines, in several lines.
        let re_exported = [
            ("a", "mod b;\npub use c::{\n    X,\n    Y,\n};"),
            ("a::b", "use super::X;"),
            ("a::c", "use super::b::B;"),
        ];
        assert_eq!(circles_of(&re_exported, false), ["a::b", "a::c"]);
        let composed = [("a", "mod b;\nuse self::b::B;\nuse crate::a::b::C;"), ("a::b", "use super::A;")];
        assert!(circles_of(&composed, false).is_empty());
    }

    #[test]
    fn open_state_is_found() {
        let open = |text| too_open(&fake(&[("a", text)]));
        assert_eq!(open("struct S {\n    x: u8,\n    pub(crate) y: u8,\n}"), ["open state: a::S.y"]);
        assert_eq!(open("pub struct S {\n    pub y: Cell<u8>,\n    pub z: u8,\n}"), ["open state: a::S.y"]);
        assert!(open("pub struct S {\n    pub y: u8,\n    pub z: u8,\n}").is_empty());
        assert!(open("pub struct S {\n    x: u8,\n    pub(super) y: u8,\n}").is_empty());
        let mixed = "pub struct S<D> {\n    x: u8,\n    pub y: Vec<D>,\n}";
        assert!(too_open(&fake(&[("a::s", mixed), ("a::t", "s.y = 1;"), ("b", "if s.y == 1 {}")])).is_empty());
        for change in ["s.y = 1;", "s.y += 1;"] {
            assert_eq!(too_open(&fake(&[("a::s", mixed), ("b", change)])), ["open state: a::s::S.y"]);
        }
    }

    #[test]
    fn a_struct_with_too_many_fields_is_found() {
        let fields: String = (0..=MOST_FIELDS).map(|n| format!("    f{n}: u8,\n")).collect();
        assert_eq!(too_large(&fake(&[("a", &format!("struct S {{\n{fields}}}"))])), ["21 fields: a::S"]);
    }

    #[test]
    fn a_long_function_is_found() {
        let liar = format!("async fn f() {{\n{}}}", "    g();\n".repeat(MOST_LINES));
        assert_eq!(too_long(&fake(&[("a", &liar)])).len(), 1);
        assert!(too_long(&fake(&[("a", "fn f() {\n    g();\n}")])).is_empty());
        let required =
            format!("trait T {{\n    fn f(\n        &self,\n    ) -> [u8; 4];\n{}    }}\n}}", "\n".repeat(MOST_LINES));
        assert!(too_long(&fake(&[("a", &required)])).is_empty());
    }
}
