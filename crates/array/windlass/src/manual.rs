//! Manual pages: one for each command, made from the command line itself; `windlass.toml(5)`, made from the
//! configuration file that packages install; and `windlass-codes(7)`, made from the explanations of codes.

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use explain::{Entry, Kind, Step};
use std::fs;
use std::io;
use std::path::Path;

/// The configuration file with every setting and its comment.
const CONFIGURATION: &str = include_str!("../../../../packaging/windlass.toml");

/// Writes all pages into `man1`, `man5` and `man7` of a directory, and returns their number. Pages that are there are
/// replaced.
pub(crate) fn write(command: clap::Command, directory: &Path) -> io::Result<usize> {
    let (commands, files, others) = (directory.join("man1"), directory.join("man5"), directory.join("man7"));
    for section in [&commands, &files, &others] {
        fs::create_dir_all(section)?;
    }
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let pages = write_command(&command, &commands)?;
    fs::write(files.join("windlass.toml.5"), configuration_page())?;
    fs::write(others.join("windlass-codes.7"), codes_page())?;
    Ok(pages + 2)
}

/// Writes the page of a command and those of the commands below it that are not hidden, and returns their number.
fn write_command(command: &clap::Command, directory: &Path) -> io::Result<usize> {
    let mut pages = 1;
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages += write_command(below, directory)?;
    }
    let page = Man::new(command.clone().after_help(None::<&str>)).manual("Windlass");
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(examples) = command.get_after_help() {
        text.extend_from_slice(as_it_is("EXAMPLES AND NOTES", &examples.to_string()).as_bytes());
    }
    fs::write(directory.join(page.get_filename()), text)?;
    Ok(pages)
}

/// A section whose lines stay as they are.
fn as_it_is(heading: &str, lines: &str) -> String {
    let mut section = Roff::new();
    section.control("SH", [heading]);
    section.control("nf", []);
    for line in lines.lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section.to_roff()
}

/// The page of the configuration file: its text as it is.
fn configuration_page() -> String {
    let mut page = Roff::new();
    heading(&mut page, "windlass.toml", "5", "configuration of the Windlass storage array");
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "The file /etc/windlass/windlass.toml has the settings of one machine. Every setting is optional. \
         The next section is the file that a package installs.",
    )]);
    let mut other = Roff::new();
    other.control("SH", ["SEE ALSO"]);
    other.text([roman("windlass(1), windlass-serve(1), windlass-check-config(1)")]);
    page.render() + &as_it_is("SETTINGS", CONFIGURATION) + &other.to_roff()
}

/// Begins a page that is not of a command.
fn heading(page: &mut Roff, name: &str, section: &str, about: &str) {
    page.control("TH", [name, section, "", concat!("windlass ", env!("CARGO_PKG_VERSION")), "Windlass"]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {about}"))]);
}

/// The page of all codes, one section for each kind.
fn codes_page() -> String {
    let mut page = Roff::new();
    heading(&mut page, "windlass-codes", "7", "what the codes of the Windlass storage array mean, and what to do");
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "Errors, alerts, warnings, events and the log of offload commands have codes, which are stable. The command \
         windlass explain shows one of them.",
    )]);
    for kind in Kind::ALL {
        let words = match kind {
            Kind::Problem => "PROBLEMS",
            Kind::Refusal => "REASONS OF THE OFFLOAD LOG",
            Kind::Alert => "ALERTS",
            Kind::Warning => "WARNINGS",
            Kind::Event => "EVENTS",
            Kind::Exit => "EXIT STATUSES",
            Kind::Sense => "SENSE DATA",
        };
        page.control("SH", [words]);
        kind.entries().iter().for_each(|entry| explanation(&mut page, entry));
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("windlass-explain(1)")]);
    page.to_roff()
}

/// Meaning, causes and advice of a code.
fn explanation(page: &mut Roff, entry: &Entry) {
    page.control("TP", []);
    page.text([bold(entry.code)]);
    let causes = entry.causes.iter().map(|cause| format!(" {cause}"));
    let steps = entry.todo.iter().map(|step| match step {
        Step::Do(words) => format!(" {words}"),
        Step::Run(command) => format!(" ({command})"),
    });
    let standard = entry.standard.map(|section| format!(" See {section}."));
    let causes: String = causes.collect();
    let causes = if causes.is_empty() { causes } else { format!(" Possible causes:{causes}") };
    page.text([
        roman(entry.meaning),
        roman(causes),
        roman(steps.collect::<String>()),
        roman(standard.unwrap_or_default()),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_that_names_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let pages = write(crate::command(), directory.path()).expect("pages");
        let names = |section: &str| -> Vec<_> {
            let entries = fs::read_dir(directory.path().join(section)).expect("a section");
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect()
        };
        let commands = names("man1");
        assert_eq!(commands.len() + names("man5").len() + names("man7").len(), pages, "{commands:?}");
        for page in ["windlass.1", "windlass-volume-create.1", "windlass-pool-dump.1", "windlass-serve.1"] {
            assert!(commands.iter().any(|name| name == page), "{page} of {commands:?}");
        }
        let page = fs::read_to_string(directory.path().join("man1/windlass-volume-create.1")).expect("a page");
        assert!(page.contains("\n  windlass volume create win\\-dc1 \\-\\-size 100G\n"), "its example: {page}");
    }

    #[test]
    fn the_page_of_codes_has_each_of_them() {
        let page = codes_page();
        for entry in Kind::ALL.into_iter().flat_map(Kind::entries) {
            let code = entry.code.replace('-', "\\-");
            assert!(page.lines().any(|line| line.contains(&code)), "{code}");
        }
    }

    /// A line that begins with a dot or an apostrophe would be a command of roff, and be missing on the page.
    #[test]
    fn lines_that_roff_would_take_for_its_own_are_text() {
        let section = as_it_is("EXAMPLES", ".so /etc/passwd\n'br\n\\fB");
        assert!(section.lines().skip(2).take(3).all(|line| !line.starts_with(['.', '\''])), "{section}");
        assert!(section.contains("\\\\fB") || section.contains("\\efB"), "{section}");
    }

    #[test]
    fn the_page_of_the_configuration_has_each_of_its_settings() {
        let page = configuration_page();
        for setting in CONFIGURATION.lines().filter_map(|line| line.split_once(" = ")) {
            assert!(page.contains(setting.0.trim_start_matches("# ")), "{}", setting.0);
        }
    }
}
