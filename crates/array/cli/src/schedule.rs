//! `windlass schedule`: snapshots at set times, and rules that remove old ones.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use crate::selection::Selection;
use api::{Keep, PreviewedSnapshot, Schedule, ScheduleCreate, SchedulePreview, SchedulePreviewed, ScheduleSet, When};
use std::collections::BTreeMap;

/// Days of the week, Monday first.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Verbs of `windlass schedule`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List schedules
    #[command(after_help = "Example:\n  windlass schedule list")]
    List(Selection),
    /// Show one schedule
    #[command(after_help = "Example:\n  windlass schedule show gold")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a schedule
    #[command(
        group = clap::ArgGroup::new("times").required(true).args(["every", "daily", "weekly"]),
        after_help = "Examples:\n  windlass schedule create gold --every 15m --keep hourly=24,daily=30,weekly=8 --label tier=gold\n  windlass schedule create nightly --daily 02:00 --zone Europe/Berlin --keep daily=7,monthly=12 --volumes db,log\n  windlass schedule create audit --weekly sun@03:00 --keep weekly=52 --lock 30d --volumes books\n\nAll members that are due together have snapshots of one instant. A run that is missed while the array is off is made up once. Pinned and locked snapshots stay whatever the rules say."
    )]
    Create {
        /// Name, at most 40 characters: that of its snapshots begins with it
        name: String,
        /// Times
        #[command(flatten)]
        times: Times,
        /// Members and rules
        #[command(flatten)]
        rules: Rules,
    },
    /// Change a schedule; what is not named stays
    #[command(
        after_help = "Examples:\n  windlass schedule set gold --every 30m\n  windlass schedule set gold --keep daily=7 --keep-last 5\n  windlass schedule set gold --pause on"
    )]
    Set {
        /// Name or id
        name: String,
        /// Times
        #[command(flatten)]
        times: Times,
        /// Members and rules
        #[command(flatten)]
        rules: Rules,
        /// on: pause the schedule; off: let it run again
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
        pause: Option<crate::volume::Switch>,
    },
    /// Show the next runs of times, and what rules would remove; nothing is changed
    #[command(
        after_help = "Examples:\n  windlass schedule preview --weekly sun@03:00 --zone Europe/Berlin\n  windlass schedule preview gold --keep daily=7"
    )]
    Preview {
        /// Name or id of a schedule whose times and rules would change; default: a new one
        name: Option<String>,
        /// Times
        #[command(flatten)]
        times: Times,
        /// Keep the newest snapshot of each of the last N hours, days, weeks or months that have one
        #[arg(long, value_name = "RULE=N,…", value_parser = parse_keep)]
        keep: Option<Keep>,
        /// Also keep the N newest snapshots of each member
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        keep_last: Option<u16>,
    },
    /// Delete schedules; their snapshots stay
    #[command(after_help = "Example:\n  windlass schedule delete gold")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Run a schedule now
    #[command(after_help = "Example:\n  windlass schedule run gold")]
    Run {
        /// Name or id
        name: String,
    },
}

/// Times of runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Times {
    /// Run at the multiples of this time, such as 15m or 4h
    #[arg(long, value_name = "TIME", value_parser = parse_every, conflicts_with_all = ["daily", "weekly"])]
    every: Option<When>,
    /// Run each day at this time
    #[arg(long, value_name = "HH:MM", value_parser = parse_daily, conflicts_with = "weekly")]
    daily: Option<When>,
    /// Run each week on this day at this time
    #[arg(long, value_name = "DAY@HH:MM", value_parser = parse_weekly)]
    weekly: Option<When>,
    /// Time zone of times and days, such as Europe/Berlin; default: UTC
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
}

impl Times {
    fn when(&self) -> Option<When> {
        self.every.or(self.daily).or(self.weekly)
    }
}

/// Members and rules.
#[derive(Clone, Debug, clap::Args)]
pub struct Rules {
    /// Volumes and shares, by name or id; none: only those with the label
    #[arg(long, value_name = "NAME,…|none", value_delimiter = ',')]
    volumes: Option<Vec<String>>,
    /// Volumes with this label; none: no label
    #[arg(long, value_name = "KEY=VALUE|none", value_parser = parse_label)]
    label: Option<BTreeMap<String, String>>,
    /// Keep the newest snapshot of each of the last N hours, days, weeks or months that have one
    #[arg(long, value_name = "RULE=N,…", value_parser = parse_keep)]
    keep: Option<Keep>,
    /// Also keep the N newest snapshots of each member [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep_last: Option<u16>,
    /// Lock each new snapshot against deletion for this time; none: no lock
    #[arg(long, value_name = "TIME|none", value_parser = parse_lock)]
    lock: Option<u32>,
}

impl Rules {
    /// Members by name, if they are given; `none` alone is no name.
    fn members(&self) -> Option<Vec<String>> {
        let none = |names: &Vec<String>| matches!(&names[..], [only] if only == "none");
        self.volumes.clone().map(|names| if none(&names) { Vec::new() } else { names })
    }
}

impl Resource for Schedule {
    const WHEN_EMPTY: &'static str =
        "no schedules; create one:  windlass schedule create NAME --every 1h --keep hourly=24 --volumes VOLUME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |schedule| schedule.name.as_str().into()),
        column("when", |schedule| when(schedule.when).into()),
        minor("zone", |schedule| schedule.zone.as_str().into()),
        column("members", |schedule| Value::Number(schedule.members)),
        column("keep", |schedule| keep(schedule).into()),
        column("next", |schedule| schedule.next.map_or("paused".to_owned(), |next| format!("{next:.0}")).into()),
        column("last", |schedule| last(schedule).into()),
        wide("snapshots", |schedule| Value::Number(schedule.snapshots)),
        wide("volumes", |schedule| (!schedule.volumes.is_empty()).then(|| schedule.volumes.join(" ")).into()),
        wide("label", |schedule| schedule.label.iter().next().map(|(key, value)| format!("{key}={value}")).into()),
        wide("lock", |schedule| schedule.lock_seconds.map(duration).into()),
        wide("created", |schedule| format!("{:.0}", schedule.created).into()),
        wide("id", |schedule| schedule.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn duration(seconds: u32) -> String {
    api::duration::exact_seconds(seconds)
}

/// `every 15m`, `daily 02:00`, `weekly sun@03:00`.
fn when(when: When) -> String {
    match when {
        When::Every { seconds } => format!("every {}", duration(seconds)),
        When::Daily { minute } => format!("daily {:02}:{:02}", minute / 60, minute % 60),
        When::Weekly { day, minute } => {
            let day = DAYS.get(usize::from(day).wrapping_sub(1)).unwrap_or(&"?");
            format!("weekly {day}@{:02}:{:02}", minute / 60, minute % 60)
        }
    }
}

/// `24 hourly, 7 daily, last 3`.
fn keep(schedule: &Schedule) -> String {
    let Keep { hourly, daily, weekly, monthly } = schedule.keep;
    let rules = [(hourly, "hourly"), (daily, "daily"), (weekly, "weekly"), (monthly, "monthly")];
    let rules = rules.into_iter().filter(|(number, _)| *number > 0).map(|(number, rule)| format!("{number} {rule}"));
    rules.chain([format!("last {}", schedule.keep_last)]).collect::<Vec<_>>().join(", ")
}

/// `31 taken, 31 removed`, and what was skipped.
fn last(schedule: &Schedule) -> Option<String> {
    let last = schedule.last.as_ref()?;
    let skipped = if last.skipped > 0 { format!(", {} skipped", last.skipped) } else { String::new() };
    Some(format!("{} taken, {} removed{skipped}", last.taken, last.removed))
}

fn parse_seconds(text: &str) -> Result<u32, String> {
    u32::try_from(api::duration::parse(text)?.as_secs()).map_err(|_| format!("{text:?} is too long"))
}

fn parse_every(text: &str) -> Result<When, String> {
    parse_seconds(text).map(|seconds| When::Every { seconds })
}

fn parse_lock(text: &str) -> Result<u32, String> {
    if text == "none" { Ok(0) } else { parse_seconds(text) }
}

/// Minute of the day of `HH:MM`.
pub(crate) fn parse_minute(text: &str) -> Result<u16, String> {
    let wrong = || format!("{text:?} is not a time such as 02:00");
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    let part = |text: &str, most: u16| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten().filter(|part| *part <= most).ok_or_else(wrong)
    };
    Ok(part(hour, 23)? * 60 + part(minute, 59)?)
}

fn parse_daily(text: &str) -> Result<When, String> {
    parse_minute(text).map(|minute| When::Daily { minute })
}

fn parse_weekly(text: &str) -> Result<When, String> {
    let wrong = || format!("{text:?} is not a day and time such as sun@03:00");
    let (name, time) = text.split_once('@').ok_or_else(wrong)?;
    let day = (1..).zip(DAYS).find(|(_, day)| *day == name).map(|(day, _)| day).ok_or_else(wrong)?;
    Ok(When::Weekly { day, minute: parse_minute(time)? })
}

/// Reads `KEY=VALUE`, or `none`.
fn parse_label(text: &str) -> Result<BTreeMap<String, String>, String> {
    if text == "none" {
        return Ok(BTreeMap::new());
    }
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not KEY=VALUE"))?;
    Ok(BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

/// Reads `hourly=24,daily=30,weekly=8,monthly=12`.
fn parse_keep(text: &str) -> Result<Keep, String> {
    let mut keep = Keep::default();
    for rule in text.split(',') {
        let wrong = || format!("{rule:?} is not a rule such as daily=30: the rules are hourly, daily, weekly, monthly");
        let (name, number) = rule.split_once('=').ok_or_else(wrong)?;
        let place = match name {
            "hourly" => &mut keep.hourly,
            "daily" => &mut keep.daily,
            "weekly" => &mut keep.weekly,
            "monthly" => &mut keep.monthly,
            _ => return Err(wrong()),
        };
        *place = number.parse().map_err(|_| wrong())?;
    }
    Ok(keep)
}

impl Resource for PreviewedSnapshot {
    const COLUMNS: &'static [Column<Self>] = &[
        column("removed", |snapshot| snapshot.name.as_str().into()),
        column("created", |snapshot| format!("{:.0}", snapshot.created).into()),
        wide("id", |snapshot| snapshot.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Shows a preview: the next runs, then the snapshots that would be removed.
fn previewed(preview: &SchedulePreviewed, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if output.is_document() {
        return output.document(preview);
    }
    let next: String = preview.next.iter().map(|time| format!("next  {time:.0}\n")).collect();
    output.text(&next)?;
    output.report(&format!("{} snapshots stay, {} would be removed", preview.kept, preview.removed));
    if preview.removes.is_empty() { Ok(()) } else { output.list(&preview.removes) }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Schedule>("/api/v1/schedules", client, output).await.map(drop),
        Verb::Show { name } => output.show(&client.get::<Schedule>(&path(name)).await?),
        Verb::Create { name, times, rules } => {
            let Some(when) = times.when() else {
                return Err(CliError::usage("give --every, --daily or --weekly".to_owned()));
            };
            let create = ScheduleCreate {
                name: name.clone(),
                when,
                zone: times.zone.clone(),
                volumes: rules.members().unwrap_or_default(),
                label: rules.label.clone().unwrap_or_default(),
                keep: rules.keep.unwrap_or_default(),
                keep_last: rules.keep_last,
                lock_seconds: rules.lock.filter(|seconds| *seconds > 0),
            };
            let schedule = client.post::<Schedule>("/api/v1/schedules", &create).await?.body;
            output.made("schedule", &schedule, true)
        }
        Verb::Set { name, times, rules, pause } => {
            let set = ScheduleSet {
                when: times.when(),
                zone: times.zone.clone(),
                volumes: rules.members(),
                label: rules.label.clone(),
                keep: rules.keep,
                keep_last: rules.keep_last,
                lock_seconds: rules.lock,
                paused: pause.map(|pause| pause == crate::volume::Switch::On),
            };
            if set == ScheduleSet::default() {
                return Err(CliError::usage(
                    "nothing to change: give the times, the members, a rule or --pause".to_owned(),
                ));
            }
            output.made("schedule", &client.patch::<Schedule>(&path(name), &set).await?, true)
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete schedule", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            let mut deleted = Vec::with_capacity(names.len());
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete schedule {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("schedule {name} deleted; its snapshots stay"));
                deleted.push(name.as_str());
            }
            output.deleted(&deleted)
        }
        Verb::Preview { name, times, keep, keep_last } => {
            let question = SchedulePreview {
                schedule: name.clone(),
                when: times.when(),
                zone: times.zone.clone(),
                keep: *keep,
                keep_last: *keep_last,
            };
            let preview = client.post::<SchedulePreviewed>("/api/v1/schedules/preview", &question).await?.body;
            previewed(&preview, output)
        }
        Verb::Run { name } => {
            let nothing = BTreeMap::<String, String>::new();
            let schedule = client.post::<Schedule>(&format!("{}/run", path(name)), &nothing).await?.body;
            output.made("schedule", &schedule, true)
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/schedules/{}", segment(name))
}

#[cfg(test)]
mod tests {
    use super::{parse_daily, parse_keep, parse_label, parse_weekly};
    use api::{Keep, When};

    #[test]
    fn times_and_rules_are_read() {
        assert_eq!(parse_daily("02:00"), Ok(When::Daily { minute: 120 }));
        assert_eq!(parse_weekly("sun@23:59"), Ok(When::Weekly { day: 7, minute: 1439 }));
        let keep = Keep { hourly: 24, monthly: 12, ..Keep::default() };
        assert_eq!(parse_keep("hourly=24,monthly=12"), Ok(keep));
        assert_eq!(parse_label("tier=gold").map(|label| label.len()), Ok(1));
        for text in ["2:00", "24:00", "02:60", "02", "+2:00", "-1:00"] {
            assert!(parse_daily(text).is_err(), "{text}");
        }
        for text in ["sunday@02:00", "02:00", "sun@2"] {
            assert!(parse_weekly(text).is_err(), "{text}");
        }
        for text in ["", "yearly=1", "daily", "daily=x", "daily=70000"] {
            assert!(parse_keep(text).is_err(), "{text}");
        }
        assert!(parse_label("gold").is_err());
    }
}
