//! Scripts of checks. A line `### TITLE` begins a check, whose commands the guest carries out. A line
//! `### windlass WORDS` is a command of the array's administrator, and two titles end and start the array
//! ([`End`]). What stands before the first such line is a comment.

/// Part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Commands that the guest carries out.
    Check { title: &'a str, commands: &'a str },
    /// Command of the administrator, without its first word.
    Administer { arguments: Vec<&'a str> },
    /// The array's process ends, and starts again.
    Restart { end: End },
}

/// End of the array's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// SIGKILL.
    Kill,
    /// A clean stop.
    Stop,
}

impl End {
    pub(super) const ALL: [Self; 2] = [Self::Kill, Self::Stop];

    /// Title of the part.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Kill => "the array is killed and starts",
            Self::Stop => "the array stops and starts",
        }
    }
}

/// Parts of a script, in order.
pub(super) fn parts(script: &str) -> impl Iterator<Item = Part<'_>> {
    script.split("\n### ").skip(1).map(|part| {
        let (title, commands) = part.split_once('\n').unwrap_or((part, ""));
        if let Some(words) = title.strip_prefix("windlass ") {
            return Part::Administer { arguments: words.split_whitespace().collect() };
        }
        match End::ALL.into_iter().find(|end| end.title() == title) {
            Some(end) => Part::Restart { end },
            None => Part::Check { title, commands },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cut_at_its_titles() {
        let found: Vec<_> = parts("# About.\n\n### one\na\nb\n\n### two: 2\nc # ### d\n").collect();
        let check = |title, commands| Part::Check { title, commands };
        assert_eq!(found, [check("one", "a\nb\n"), check("two: 2", "c # ### d\n")]);
    }

    #[test]
    fn titles_without_commands_are_work_of_the_administrator() {
        let found: Vec<_> = parts("\n### windlass share clone a b\n### the array stops and starts\n### c").collect();
        let expected = [
            Part::Administer { arguments: vec!["share", "clone", "a", "b"] },
            Part::Restart { end: End::Stop },
            Part::Check { title: "c", commands: "" },
        ];
        assert_eq!(found, expected);
    }
}
