//! Rules that can be left out, to prove that the simulation notices: of the state of clients, of the file system
//! below the server, and of what drives the server.

use std::cell::Cell;
use vfs::memory::Lie;

/// Rule of what drives the server, which is part of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driving {
    /// No reply is sent before the records that its call has changed are durable.
    RecordBeforeReply,
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    #[cfg(feature = "mutations")]
    State(nfs_state::Mutation),
    Files(Lie),
    Driving(Driving),
}

thread_local! {
    static LEFT_OUT: Cell<Option<Rule>> = const { Cell::new(None) };
}

/// Lies of the file system that clients of the server can notice.
const LIES: &[(Lie, &str, &str)] = &[
    (Lie::CookiesArePositions, "cookies", "cookies of a directory are positions, and so used again"),
    (Lie::DirectoriesKeepTheirChange, "change", "a new entry does not change its directory"),
    (Lie::BeforeIsAfter, "change-info", "the state before a change is told as the one after it"),
    (Lie::ReleasedFilesStay, "released", "a file without a name stays when its last hold ends"),
];

impl Rule {
    /// All rules of this build.
    pub fn all() -> Vec<Self> {
        #[cfg(feature = "mutations")]
        let state: Vec<Kind> = nfs_state::Mutation::ALL.iter().map(|rule| Kind::State(*rule)).collect();
        #[cfg(not(feature = "mutations"))]
        let state: Vec<Kind> = Vec::new();
        let files = LIES.iter().map(|(lie, ..)| Kind::Files(*lie));
        state.into_iter().chain(files).chain([Kind::Driving(Driving::RecordBeforeReply)]).map(Self).collect()
    }

    fn words(self) -> (&'static str, &'static str) {
        match self.0 {
            #[cfg(feature = "mutations")]
            Kind::State(rule) => (rule.name(), rule.description()),
            Kind::Files(lie) => {
                LIES.iter().find(|(own, ..)| *own == lie).map_or(("", ""), |(_, name, text)| (name, text))
            }
            Kind::Driving(Driving::RecordBeforeReply) => {
                ("record-before-reply", "replies do not wait until the records of clients are durable")
            }
        }
    }

    /// Name on a command line.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Effect of leaving the rule out, in a sentence.
    pub fn description(self) -> &'static str {
        self.words().1
    }

    /// Whether it is a rule of the state of clients.
    #[cfg(test)]
    pub(crate) const fn is_of_state(self) -> bool {
        !matches!(self.0, Kind::Files(_) | Kind::Driving(_))
    }

    /// Whether only the file system in memory has the rule.
    pub(crate) const fn needs_memory(self) -> bool {
        matches!(self.0, Kind::Files(_))
    }
}

/// Leaves out a rule in every run of this thread from now on; `None` ends it.
pub fn leave_out(rule: Option<Rule>) {
    LEFT_OUT.set(rule);
    #[cfg(feature = "mutations")]
    nfs_state::set_mutation(match rule {
        Some(Rule(Kind::State(rule))) => Some(rule),
        _ => None,
    });
}

/// The rule that is left out.
pub(crate) fn left_out() -> Option<Rule> {
    LEFT_OUT.get()
}

/// Lie of the file system in memory.
pub(crate) fn lie() -> Option<Lie> {
    match left_out() {
        Some(Rule(Kind::Files(lie))) => Some(lie),
        _ => None,
    }
}

/// Whether a rule of what drives the server is left out.
pub(crate) fn is_left_out(rule: Driving) -> bool {
    left_out() == Some(Rule(Kind::Driving(rule)))
}
