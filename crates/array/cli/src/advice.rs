//! Commands that follow the array's advice. The array names the condition, its parameters and the action in terms of
//! its resources. The commands are those of the explanation of the code (`windlass explain CODE`), with the names of
//! this answer in place of the words in capitals.

use api::{Alert, Problem};
use explain::{Kind, Step, entry};
use std::collections::BTreeMap;
use text::terminal::word;

/// Words in capitals that stand for an object or setting which a problem or alert can name. Others, such as FILE or
/// SIZE, stand for what only the user knows.
const NAMED: [&str; 17] = [
    "CHANNEL",
    "COMMITMENT",
    "GROUP",
    "HOST",
    "ID",
    "JOB",
    "NAME",
    "NOUN",
    "POLICY",
    "POOL",
    "SCHEDULE",
    "SETTING",
    "SHARE",
    "SNAPSHOT",
    "SOURCE",
    "VALUE",
    "VOLUME",
];
/// The same, if the subject of an alert can be one.
const SUBJECTS: [&str; 5] = ["CHANNEL", "POOL", "SCHEDULE", "SHARE", "VOLUME"];
/// Subject of alerts about the array as a whole.
const ARRAY: &str = "array";

/// Help for a problem: the array's sentence and the command for it.
pub(crate) fn help(problem: &Problem) -> Option<String> {
    match problem.code.as_str() {
        // The array names an HTTP header; the command line has an option instead.
        "unauthorized" => {
            Some("name the token's file:  --token-file STATE_DIR/admin.token  or WINDLASS_TOKEN_FILE".to_owned())
        }
        "lun-taken" => Some("leave --lun out to get the lowest free one".to_owned()),
        _ => {
            let command = command(problem).map(|command| format!(":  {command}"));
            problem.help.as_ref().map(|help| help.clone() + &command.unwrap_or_default())
        }
    }
}

/// Help for an alert: the array's sentence and the commands for it.
pub(crate) fn alert_help(alert: &Alert) -> String {
    let subject = word(&alert.subject);
    let is_name = alert.subject != ARRAY && !alert.subject.contains(char::is_whitespace);
    let fill = |command: &'static str| {
        let words = command.split(' ').map(|part| match SUBJECTS.contains(&part) && is_name {
            true => &*subject,
            false => part,
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let commands: Vec<String> = commands(Kind::Alert, &alert.code).map(fill).collect();
    match commands.is_empty() {
        true => alert.help.clone(),
        false => format!("{}:  {}", alert.help, commands.join(", ")),
    }
}

fn commands(kind: Kind, code: &str) -> impl Iterator<Item = &'static str> {
    let steps = entry(kind, code).map_or(&[][..], |entry| entry.todo);
    steps.iter().filter_map(|step| match step {
        Step::Run(command) => Some(*command),
        Step::Do(_) => None,
    })
}

/// Command of the explanation that the names of the problem fit best. Absent if none fits, as when an older array does
/// not report the names.
fn command(problem: &Problem) -> Option<String> {
    let names = Names::of(problem);
    let filled = commands(Kind::Problem, &problem.code).map(|command| names.fill(command));
    // The first of those that fit equally well.
    let best = filled.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.filter(|(_, fit)| *fit >= 0).map(|(command, _)| command)
}

/// Names of a problem by the word that stands for each.
struct Names {
    given: BTreeMap<String, String>,
    /// The name of the object, by the word for its noun.
    object: Option<(String, String)>,
    /// Words for what the problem is about without a name.
    implied: Vec<&'static str>,
}

impl Names {
    fn of(problem: &Problem) -> Self {
        let parameters = &problem.parameters;
        let given: BTreeMap<String, String> =
            parameters.iter().map(|(name, value)| (name.to_ascii_uppercase(), value.clone())).collect();
        let object = parameters.get("noun").zip(parameters.get("name")).map(|(noun, name)| {
            let noun = match noun.as_str() {
                "host-group" => "group",
                "qos-policy" => "policy",
                noun => noun,
            };
            (noun.to_ascii_uppercase(), name.clone())
        });
        let users = problem.users.iter().filter_map(|user| match user.kind.as_str() {
            "access" => Some("VOLUME"),
            "host-group" => Some("GROUP"),
            "session" => Some("ID"),
            _ => None,
        });
        let implied = users.chain(problem.needed_bytes.map(|_| "PERCENT")).collect();
        Self { given, object, implied }
    }

    /// A command with the names, and how well they fit it: each name counts for it, more if the problem has it for that
    /// word, and each missing one against it.
    fn fill(&self, command: &str) -> (String, i32) {
        let mut fit = 0;
        let parts = command.split(' ').map(|part| {
            let bare = part.trim_start_matches("--").trim_end_matches('%');
            if let Some(name) = self.given.get(bare) {
                fit += 2;
                return part.replace(bare, &word(name));
            }
            if let Some((_, name)) = self.object.as_ref().filter(|(noun, _)| noun == bare) {
                fit += 1;
                return part.replace(bare, &word(name));
            }
            match bare {
                "PERCENT" if self.implied.contains(&bare) => fit += 2,
                _ if self.implied.contains(&bare) => {}
                _ if NAMED.contains(&bare) => fit -= 1,
                _ => {}
            }
            part.to_owned()
        });
        let filled = parts.collect::<Vec<_>>().join(" ");
        (filled, fit)
    }
}

#[cfg(test)]
mod tests {
    use super::{alert_help, help};
    use api::{Alert, Problem, Severity, User};
    use std::collections::BTreeMap;

    fn problem(code: &str, parameters: &[(&str, &str)]) -> Problem {
        Problem {
            kind: String::new(),
            title: String::new(),
            status: 409,
            detail: String::new(),
            code: code.to_owned(),
            help: Some("do this".to_owned()),
            parameters: parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            users: Vec::new(),
            needed_bytes: None,
            available_bytes: None,
            fields: Vec::new(),
            present: None,
        }
    }

    #[test]
    fn advice_ends_in_a_command_with_the_names_of_the_problem() {
        let last_path = [("noun", "portal"), ("name", "2"), ("setting", "group"), ("value", "3")];
        for (code, parameters, expected) in [
            ("not-found", &[("noun", "host")][..], "windlass host list"),
            ("not-found", &[("noun", "volume"), ("name", "v1")], "windlass volume list"),
            ("not-found", &[("noun", "snapshot"), ("volume", "v1")], "windlass snapshot list v1"),
            ("in-use", &[("volume", "v1"), ("snapshot", "s")], "windlass volume rollback v1 s --force"),
            ("not-found", &[("noun", "share")], "windlass share list"),
            ("in-use", &[("noun", "share"), ("name", "s1")], "windlass access revoke s1 --all"),
            ("has-snapshots", &[("share", "s1")], "windlass share delete s1 --with-snapshots"),
            ("sanitized-with-snapshots", &[("volume", "v1")], "windlass volume delete v1 --with-snapshots --now"),
            ("host-without-address", &[("host", "h")], "windlass host set h --address ADDRESS"),
            ("source-is-share", &[("source", "s1@a")], "windlass share clone s1@a NAME"),
            ("already-granted", &[("volume", "v1")], "windlass access revoke v1 --any"),
            ("already-granted", &[("volume", "v1"), ("group", "g")], "windlass access revoke v1 --group g"),
            ("last-path", &last_path, "windlass portal set 2 --group 3 --force"),
            ("over-commitment", &[("pool", "p0"), ("commitment", "312")], "windlass pool set p0 --commitment 312%"),
        ] {
            assert_eq!(help(&problem(code, parameters)), Some(format!("do this:  {expected}")), "{code}");
        }
    }

    #[test]
    fn an_array_without_parameters_gets_its_own_help_shown() {
        for code in ["exists", "over-commitment"] {
            let older = Problem { parameters: BTreeMap::new(), ..problem(code, &[]) };
            assert_eq!(help(&older).as_deref(), Some("do this"), "{code}");
        }
    }

    #[test]
    fn the_users_of_an_object_tell_how_their_use_ends() {
        let in_use = |noun: &str, kind: &str| {
            let users = vec![User { kind: kind.to_owned(), description: String::new() }];
            help(&Problem { users, ..problem("in-use", &[("noun", noun), ("name", "x")]) })
        };
        for (noun, kind, expected) in [
            ("host", "session", "windlass session drop ID"),
            ("host", "access", "windlass access revoke VOLUME --host x"),
            ("host", "host-group", "windlass host-group set GROUP --remove x"),
            ("host-group", "access", "windlass access revoke VOLUME --group x"),
            ("volume", "access", "windlass access revoke x --all"),
            ("qos-policy", "volume", "windlass qos delete x --force"),
        ] {
            assert_eq!(in_use(noun, kind), Some(format!("do this:  {expected}")), "{noun} {kind}");
        }
        let no_space = |needed_bytes| help(&Problem { needed_bytes, ..problem("no-space", &[]) });
        assert_eq!(no_space(None).as_deref(), Some("do this:  windlass pool show"));
        let lower = "do this:  windlass volume set VOLUME --overwrite-reserve PERCENT";
        assert_eq!(no_space(Some(1)).as_deref(), Some(lower));
    }

    #[test]
    fn the_subject_of_an_alert_is_in_its_commands() {
        let alert = |code: &str, subject: &str| Alert {
            id: uuid::Uuid::nil(),
            code: code.to_owned(),
            severity: Severity::Warning,
            subject: subject.to_owned(),
            since: jiff::Timestamp::UNIX_EPOCH,
            message: String::new(),
            help: "do this".to_owned(),
            acknowledged: None,
            ended: None,
            told: Vec::new(),
        };
        for (code, subject, expected) in [
            ("bad-blocks", "p0", "do this:  windlass event list --code bad-block, windlass pool scrub p0"),
            ("volume-threshold", "a'b", r"do this:  windlass volume grow 'a'\''b' --size SIZE"),
            ("open-access", "array", "do this:  windlass access list --any, windlass access revoke VOLUME --any"),
            ("clock-ahead", "array", "do this"),
            ("of-a-newer-array", "p0", "do this"),
        ] {
            assert_eq!(alert_help(&alert(code, subject)), expected, "{code}");
        }
    }
}
