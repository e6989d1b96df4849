//! Commands that follow the array's advice. The array names the condition, its parameters and the
//! action in terms of its resources; this file has the words of the command line for them.

use api::{Alert, Problem};

/// Help for a problem: the array's sentence and the command for it.
pub(crate) fn help(problem: &Problem) -> Option<String> {
    match problem.code.as_str() {
        // The array names an HTTP header; the command line has an option instead.
        "unauthorized" => {
            Some("name the token's file:  --token-file STATE_DIR/admin.token  or WINDLASS_TOKEN_FILE".to_owned())
        }
        "lun-taken" => Some("leave --lun out to get the lowest free one".to_owned()),
        _ => problem.help.as_ref().map(|help| help.clone() + &command(problem).unwrap_or_default()),
    }
}

/// Help for an alert: the array's sentence and the command for it.
pub(crate) fn alert_help(alert: &Alert) -> String {
    let subject = &alert.subject;
    let command = match alert.code.as_str() {
        "bad-blocks" => format!(":  windlass event list --code bad-block, windlass pool scrub {subject}"),
        "metadata-damaged" => {
            format!(":  windlass pool scrub {subject}, windlass pool check FILE, windlass pool repair FILE --dry-run")
        }
        "check-findings" => format!(":  windlass pool show {subject}, windlass pool check FILE"),
        "pool-threshold" | "pool-full" => format!(":  windlass pool grow {subject} --size SIZE"),
        "schedule-failed" => format!(":  windlass schedule run {subject}"),
        "share-threshold" => format!(":  windlass share set {subject} --quota SIZE"),
        "volume-threshold" => format!(":  windlass volume grow {subject} --size SIZE"),
        _ => String::new(),
    };
    format!("{}{command}", alert.help)
}

/// Command that follows the help of a problem, with its separator. Absent if there is none, or if
/// an older array does not report the parameters.
fn command(problem: &Problem) -> Option<String> {
    let parameter = |name: &str| problem.parameters.get(name).map(String::as_str);
    let used_by = |kind: &str| problem.users.iter().any(|user| user.kind == kind);
    Some(match problem.code.as_str() {
        "not-found" => match (parameter("noun")?, parameter("volume")) {
            ("snapshot", Some(volume)) => format!(":  windlass snapshot list {volume}"),
            (noun, _) => format!(":  windlass {noun} list"),
        },
        "exists" => format!(":  windlass {} show {}", parameter("noun")?, parameter("name")?),
        "in-use" => match (parameter("noun"), parameter("name"), parameter("volume"), parameter("snapshot")) {
            (Some("volume" | "share"), Some(name), ..) => format!(":  windlass access revoke {name} --all"),
            (Some("host-group"), Some(name), ..) => format!(":  windlass access revoke VOLUME --group {name}"),
            (Some("host"), Some(name), ..) if used_by("host-group") => {
                format!(":  windlass host-group set GROUP --remove {name}")
            }
            (Some("host"), Some(name), ..) if used_by("access") => {
                format!(":  windlass access revoke VOLUME --host {name}")
            }
            (Some("host"), ..) => ":  windlass session drop ID".to_owned(),
            (_, _, Some(volume), Some(snapshot)) => format!(":  windlass volume rollback {volume} {snapshot} --force"),
            _ => return None,
        },
        "has-snapshots" => match parameter("share") {
            Some(share) => format!(":  windlass share delete {share} --with-snapshots"),
            None => format!(":  windlass volume delete {} --with-snapshots", parameter("volume")?),
        },
        "sanitized-with-snapshots" => {
            format!(":  windlass volume delete {} --with-snapshots --now", parameter("volume")?)
        }
        "source-is-share" => format!(":  windlass share clone {} NAME", parameter("source")?),
        "source-is-volume" => format!(":  windlass volume clone {} NAME", parameter("source")?),
        "last-path" => {
            let (noun, name) = (parameter("noun")?, parameter("name")?);
            format!(":  windlass {noun} set {name} --{} {} --force", parameter("setting")?, parameter("value")?)
        }
        "already-granted" => {
            let grantee = match (parameter("host"), parameter("group")) {
                (Some(host), _) => format!("--host {host}"),
                (None, Some(group)) => format!("--group {group}"),
                (None, None) => "--any".to_owned(),
            };
            format!(":  windlass access revoke {} {grantee}", parameter("volume")?)
        }
        "size-missing" => format!(":  windlass volume create {} --size 100G", parameter("volume")?),
        "host-without-address" => format!(":  windlass host set {} --address ADDRESS", parameter("host")?),
        "initiator-name-taken" | "address-taken" => format!(":  windlass host show {}", parameter("host")?),
        "no-space" if problem.needed_bytes.is_some() => ":  windlass volume set NAME --overwrite-reserve 0".to_owned(),
        "no-space" => "; see:  windlass pool show".to_owned(),
        "over-commitment" => {
            format!(":  windlass pool set {} --commitment {}%", parameter("pool")?, parameter("commitment")?)
        }
        "not-thick" => {
            format!(":  windlass volume set {} --reserve thick --overwrite-reserve 50", parameter("volume")?)
        }
        "cannot-grow" => ":  windlass pool show".to_owned(),
        "growing" => format!(":  windlass pool show {}", parameter("pool")?),
        "job-ended" => ":  windlass job list".to_owned(),
        "sanitize-goes-on" => {
            format!(":  windlass job wait {}, windlass volume delete VOLUME", parameter("job")?)
        }
        "pool-stopped" | "damaged" => ":  windlass pool check FILE".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::help;
    use api::Problem;
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
}
