//! What every code that the array shows means: its causes, and what to do. The command line, the REST interface and
//! the console show the same entries.
//!
//! One file for each kind of code. An entry describes the code in general; what a single answer says about its own
//! objects is with the error.
#![forbid(unsafe_code)]

mod alerts;
mod events;
mod exits;
mod nearest;
mod problems;
mod refusals;
mod senses;
mod warnings;

pub use nearest::nearest;

/// Kind of a code. The same name can be a code of several kinds: an alert and the event of its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Condition of a refused or failed request, in problem documents and errors of commands.
    Problem,
    /// Reason why an offload command was refused, or had no benefit.
    Refusal,
    /// Condition that needs attention.
    Alert,
    /// Consequence of a change, in its answer or in that of a dry run.
    Warning,
    /// Past change.
    Event,
    /// Exit status of the program.
    Exit,
    /// Sense data of a SCSI command: sense key, additional sense code and qualifier.
    Sense,
}

impl Kind {
    /// All kinds, in the order of lists.
    pub const ALL: [Self; 7] =
        [Self::Problem, Self::Refusal, Self::Alert, Self::Warning, Self::Event, Self::Exit, Self::Sense];

    /// Name in the interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Refusal => "refusal",
            Self::Alert => "alert",
            Self::Warning => "warning",
            Self::Event => "event",
            Self::Exit => "exit",
            Self::Sense => "sense",
        }
    }

    /// Kind with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Entries of this kind, sorted by code.
    pub const fn entries(self) -> &'static [Entry] {
        match self {
            Self::Problem => problems::ENTRIES,
            Self::Refusal => refusals::ENTRIES,
            Self::Alert => alerts::ENTRIES,
            Self::Warning => warnings::ENTRIES,
            Self::Event => events::ENTRIES,
            Self::Exit => exits::ENTRIES,
            Self::Sense => senses::ENTRIES,
        }
    }
}

/// Something that the user can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// In words.
    Do(&'static str),
    /// A command line; words in capitals stand for names, sizes and files.
    Run(&'static str),
}

/// Explanation of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code.
    pub code: &'static str,
    /// Meaning, in a sentence.
    pub meaning: &'static str,
    /// Possible causes, the most likely first; empty if the meaning says it.
    pub causes: &'static [&'static str],
    /// What to do, in order; empty if there is nothing to be done.
    pub todo: &'static [Step],
    /// Section of the standard.
    pub standard: Option<&'static str>,
}

/// Entry for a code; `None` if no code of this kind has the name.
pub fn entry(kind: Kind, code: &str) -> Option<&'static Entry> {
    kind.entries().iter().find(|entry| entry.code == code)
}

/// Entries for a code as people write it, in all kinds: also sense data as hosts log it (`0x5 0x26 0x0`,
/// `5/26/0`), the whole name of a problem (`urn:windlass:problem:in-use`), and capitals.
pub fn find(words: &str) -> Vec<(Kind, &'static Entry)> {
    let plain = words.trim().to_ascii_lowercase();
    let plain = plain.strip_prefix("urn:windlass:problem:").unwrap_or(&plain);
    let sense = senses::canonical(plain);
    let code = sense.as_deref().unwrap_or(plain);
    Kind::ALL.into_iter().filter_map(|kind| Some((kind, entry(kind, code)?))).collect()
}

/// Short form of an entry in the tables.
const fn explained(
    code: &'static str,
    meaning: &'static str,
    causes: &'static [&'static str],
    todo: &'static [Step],
) -> Entry {
    Entry { code, meaning, causes, todo, standard: None }
}

#[cfg(test)]
mod tests {
    use super::{Kind, find};

    #[test]
    fn codes_are_sorted_and_unique_in_each_kind() {
        for kind in Kind::ALL {
            let codes: Vec<_> = kind.entries().iter().map(|entry| entry.code).collect();
            assert!(codes.is_sorted_by(|one, next| one < next), "{kind:?}: {codes:?}");
            assert_eq!(Kind::of_name(kind.name()), Some(kind));
        }
    }

    #[test]
    fn texts_are_sentences() {
        for entry in Kind::ALL.into_iter().flat_map(Kind::entries) {
            let steps = entry.todo.iter().filter_map(|step| match step {
                super::Step::Do(words) => Some(words),
                super::Step::Run(_) => None,
            });
            for words in [&entry.meaning].into_iter().chain(entry.causes).chain(steps) {
                assert!(words.ends_with(['.', ':']) && words.len() < 300, "{}: {words}", entry.code);
                assert!(
                    words.starts_with(|first: char| first.is_uppercase() || first == '/'),
                    "{}: {words}",
                    entry.code
                );
            }
        }
    }

    #[test]
    fn a_code_is_found_as_people_write_it() {
        let kinds = |words| find(words).into_iter().map(|(kind, entry)| (kind, entry.code)).collect::<Vec<_>>();
        assert_eq!(kinds("pool-stopped").len(), 5);
        assert_eq!(kinds(" IN-USE"), [(Kind::Problem, "in-use")]);
        assert_eq!(kinds("urn:windlass:problem:in-use"), [(Kind::Problem, "in-use")]);
        for words in ["05/26/00", "5/26/0", "0x5 0x26 0x0", "0x05/0x26/0x00", "5h 26h 0h", "0x5, 0x26, 0x0"] {
            assert_eq!(kinds(words), [(Kind::Sense, "05/26/00")], "{words}");
        }
        assert_eq!(kinds("4"), [(Kind::Exit, "4")]);
        assert_eq!(kinds("no-such-code"), []);
    }
}
