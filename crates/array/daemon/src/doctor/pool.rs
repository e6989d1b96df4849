//! The pool: its state, its space, and what keeps its content safe.

use super::{Evidence, Finding, count, fail, names, warning};
use api::{Pool, PoolState, Severity};
use control::SCRUB_WITHIN_DAYS as SCRUB_DAYS;
use jiff::{SignedDuration, Timestamp};
use text::terminal::word;

/// Share of the pool from which on the trash is worth a word, in percent.
const MUCH_TRASH: u64 = 20;
/// Size of all volumes in percent of the pool from which on a limit is advisable.
const MUCH_PROMISED: u64 = 300;

pub(super) fn state(evidence: &Evidence) -> Result<String, Finding> {
    for pool in pools(evidence) {
        let what = match pool.state {
            PoolState::Healthy | PoolState::LowSpace => continue,
            PoolState::Damaged => "has lost content or metadata",
            PoolState::Full => "is full",
            PoolState::BelowFull => "has no room in the file system or device below it",
            PoolState::Stopped => "has stopped",
        };
        return Err(
            fail(format!("pool {} {what}", pool.name), "see the alert, and what to do").enter("windlass status")
        );
    }
    Ok(format!("{} serves", names(pools(evidence).map(|pool| pool.name.as_str()))))
}

fn pools(evidence: &Evidence) -> impl Iterator<Item = &Pool> {
    evidence.status.pools.iter()
}

pub(super) fn alerts(evidence: &Evidence) -> Result<String, Finding> {
    let of = |severity| evidence.status.alerts.iter().filter(move |alert| alert.severity == severity);
    let codes = |severity| names(of(severity).map(|alert| alert.code.as_str()));
    let fix = "see what each of them says, and what to do";
    let worst = of(Severity::Critical).chain(of(Severity::Warning)).next().map_or("CODE", |alert| alert.code.as_str());
    let with_commands = |finding: Finding| finding.enter("windlass status").enter(format!("windlass explain {worst}"));
    match (of(Severity::Critical).count(), of(Severity::Warning).count()) {
        (0, 0) => Ok("none is active".to_owned()),
        (0, warnings) => {
            let words = format!("{}: {}", count(warnings, "warning"), codes(Severity::Warning));
            Err(with_commands(warning(words, fix)))
        }
        (critical, _) => Err(with_commands(fail(format!("{critical} critical: {}", codes(Severity::Critical)), fix))),
    }
}

pub(super) fn space(evidence: &Evidence) -> Result<String, Finding> {
    let mut shares = Vec::new();
    for pool in pools(evidence) {
        let percent = percent(pool.used_bytes.saturating_add(pool.promised_bytes), pool.size_bytes);
        let used = format!("{percent} % of pool {} is used or promised", pool.name);
        let fix = "see what frees space, and free it, or enlarge the pool";
        let name = word(&pool.name);
        let with_commands = |finding: Finding| {
            finding.enter(format!("windlass pool show {name}")).enter(format!("windlass pool grow {name} --size SIZE"))
        };
        if percent >= u64::from(pool.critical_percent) {
            return Err(with_commands(fail(used, fix)));
        }
        if percent >= u64::from(pool.warn_percent) {
            return Err(with_commands(warning(used, fix)));
        }
        shares.push(used);
    }
    Ok(shares.join("; "))
}

fn percent(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

pub(super) fn over_commitment(evidence: &Evidence) -> Result<String, Finding> {
    let without_limit = pools(evidence)
        .find(|pool| pool.commitment_percent >= MUCH_PROMISED && pool.commitment_limit_percent.is_none());
    let promised =
        |pool: &Pool| format!("the volumes of pool {} have {} % of its size", pool.name, pool.commitment_percent);
    match without_limit {
        Some(pool) => Err(warning(
            format!("{}, and there is no limit", promised(pool)),
            "set a limit above it, which refuses further volumes",
        )
        .enter(format!(
            "windlass pool set {} --commitment {}%",
            word(&pool.name),
            (pool.commitment_percent + 1).next_multiple_of(100)
        ))),
        None => Ok(pools(evidence).map(promised).collect::<Vec<_>>().join("; ")),
    }
}

pub(super) fn trash(evidence: &Evidence) -> Result<String, Finding> {
    for pool in pools(evidence) {
        let bytes = pool.trash_bytes.unwrap_or(0);
        if percent(bytes, pool.size_bytes) >= MUCH_TRASH {
            let held = api::size::format(bytes);
            return Err(warning(
                format!("the trash holds {held}"),
                "see what it holds, and delete for good what is not wanted back",
            )
            .enter("windlass trash list")
            .enter("windlass trash empty NAME"));
        }
        if pool.trash_seconds == 0 {
            return Err(warning(
                "the trash is off: what is deleted by mistake is gone",
                "let the trash keep what is deleted for a time",
            )
            .enter(format!("windlass pool set {} --trash 24h", word(&pool.name))));
        }
    }
    Ok("brings back what is deleted by mistake, and holds little".to_owned())
}

pub(super) fn scrub(evidence: &Evidence) -> Result<String, Finding> {
    let mut found = Vec::new();
    for pool in pools(evidence) {
        let unread = |finding: String| {
            warning(finding, "read it as a whole, at a quiet hour")
                .enter(format!("windlass pool scrub {}", word(&pool.name)))
        };
        let Some(last) = &pool.scrub else {
            if known_for_days(evidence) <= SCRUB_DAYS {
                found.push(format!("pool {} is new", pool.name));
                continue;
            }
            return Err(unread(format!("pool {} was never read as a whole", pool.name)));
        };
        let days = days_since(last.finished, evidence.now);
        let words = format!("pool {} was read as a whole {} ago", pool.name, count_days(days));
        if days > SCRUB_DAYS {
            return Err(unread(words));
        }
        found.push(words);
    }
    Ok(found.join("; "))
}

/// Days since the oldest of what was created with names.
fn known_for_days(evidence: &Evidence) -> i64 {
    let hosts = evidence.hosts.iter().map(|host| host.created);
    let grants = evidence.grants.iter().map(|grant| grant.created);
    let tokens = evidence.tokens.iter().map(|token| token.created);
    let users = evidence.users.iter().map(|user| user.created);
    let oldest = hosts.chain(grants).chain(tokens).chain(users).min();
    oldest.map_or(0, |oldest| days_since(oldest, evidence.now))
}

fn days_since(then: Timestamp, now: Timestamp) -> i64 {
    now.duration_since(then).max(SignedDuration::ZERO).as_hours() / 24
}

fn count_days(days: i64) -> String {
    count(usize::try_from(days).unwrap_or(0), "day")
}

pub(super) fn schedules(evidence: &Evidence) -> Result<String, Finding> {
    let schedules = &evidence.schedules;
    let skipped = |schedule: &&api::Schedule| schedule.last.as_ref().is_some_and(|last| last.skipped > 0);
    let failed: Vec<_> = schedules.iter().filter(skipped).map(|schedule| schedule.name.as_str()).collect();
    if !failed.is_empty() {
        return Err(warning(format!("the last run of {} left members out", names(failed.iter().copied())), "see why")
            .enter(format!("windlass schedule show {}", word(failed[0]))));
    }
    let empty = schedules.iter().filter(|schedule| !schedule.paused && schedule.members == 0);
    let empty: Vec<_> = empty.map(|schedule| schedule.name.as_str()).collect();
    if !empty.is_empty() {
        return Err(warning(
            format!("{} of no member", names(empty.iter().copied())) + " takes snapshots",
            "give it members, or delete it",
        )
        .enter(format!("windlass schedule set {} --volumes VOLUME", word(empty[0]))));
    }
    let contents = evidence.status.volumes + pools(evidence).map(|pool| pool.shares).sum::<u64>();
    if contents > 0 && schedules.iter().all(|schedule| schedule.paused) {
        return Err(warning(
            "no schedule takes snapshots: there is none, or all are paused",
            "create a schedule, or resume one",
        )
        .enter("windlass schedule create NAME --every 1h --keep hourly=24,daily=7 --volumes VOLUME"));
    }
    Ok(format!("{}, and the last runs were whole", count(schedules.len(), "schedule")))
}
