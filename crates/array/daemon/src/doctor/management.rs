//! People, tokens and the certificate.

use super::{Evidence, Finding, count, fail, names, warning};
use api::Role;
use identity::BOOTSTRAP;
use jiff::SignedDuration;
use text::terminal::word;

/// Time without use after which a token without expiry is worth a word.
const UNUSED: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Time before the end of a certificate at which it has to be replaced soon.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);
/// As above, at once.
const AT_ONCE: SignedDuration = SignedDuration::from_hours(7 * 24);

pub(super) fn administrator(evidence: &Evidence) -> Result<String, Finding> {
    if !evidence.machine.serves_https {
        return Ok("nobody signs in: REST over TLS is not configured".to_owned());
    }
    let admins = evidence.users.iter().filter(|user| user.role == Role::Admin && !user.locked).count();
    match admins {
        0 => Err(warning(
            "nobody can sign in as an administrator",
            "create an administrator: in the console, with the code that the first command prints, or with the second",
        )
        .enter("windlass setup code")
        .enter("windlass user create NAME --role admin")),
        _ => Ok(format!("{} can sign in", count(admins, "administrator"))),
    }
}

pub(super) fn bootstrap_token(evidence: &Evidence) -> Result<String, Finding> {
    let there = evidence.tokens.iter().any(|token| token.name == BOOTSTRAP);
    match there && evidence.users.iter().any(|user| user.role == Role::Admin && !user.locked) {
        true => Err(warning(
            "the first token, which can do everything, is still accepted, although people sign in",
            "give each program a token of its own, then delete the first one",
        )
        .enter("windlass token create NAME --role ROLE")
        .enter("windlass token delete bootstrap")),
        false if there => Ok("the token bootstrap is needed until there is an administrator".to_owned()),
        false => Ok("the token bootstrap is deleted".to_owned()),
    }
}

pub(super) fn old_tokens(evidence: &Evidence) -> Result<String, Finding> {
    let unused = evidence.tokens.iter().filter(|token| {
        let used = token.last_used.unwrap_or(token.created);
        token.name != BOOTSTRAP && token.expires.is_none() && evidence.now.duration_since(used) > UNUSED
    });
    let unused: Vec<_> = unused.map(|token| token.name.as_str()).collect();
    match unused.first() {
        Some(first) => Err(warning(
            format!("without expiry, and not used for 90 days: {}", names(unused.iter().copied())),
            "delete those that no program needs",
        )
        .enter(format!("windlass token delete {}", word(first)))),
        None => Ok(format!("{}, all used or with an expiry", count(evidence.tokens.len(), "token"))),
    }
}

pub(super) fn notification(evidence: &Evidence) -> Result<String, Finding> {
    let enabled: Vec<_> = evidence.channels.iter().filter(|channel| channel.enabled).collect();
    let Some(first) = enabled.first() else {
        return Err(warning(
            "no channel is configured: alerts are only seen by who looks",
            "create a channel, of e-mail, webhook or syslog, and test it",
        )
        .enter("windlass channel create --help")
        .enter("windlass channel test NAME"));
    };
    let of = |is: fn(&api::Channel) -> bool| {
        enabled.iter().filter(move |channel| is(channel)).map(|channel| channel.name.as_str())
    };
    if enabled.iter().all(|channel| channel.failing) {
        return Err(fail(
            format!("no channel works: {}", names(of(|channel| channel.failing))),
            "see what its peer answers",
        )
        .enter(format!("windlass channel test {}", word(&first.name))));
    }
    if let Some(failing) = of(|channel| channel.failing).next() {
        return Err(warning(
            format!("does not work: {}", names(of(|channel| channel.failing))),
            "see what its peer answers",
        )
        .enter(format!("windlass channel test {}", word(failing))));
    }
    if let Some(untried) = of(|channel| channel.last.is_none()).next() {
        return Err(warning(
            format!("never tried: {}", names(of(|channel| channel.last.is_none()))),
            "send a test message",
        )
        .enter(format!("windlass channel test {}", word(untried))));
    }
    Ok(format!("{} for alerts", count(enabled.len(), "channel")))
}

pub(super) fn certificate(evidence: &Evidence) -> Result<String, Finding> {
    let Some(ends) = evidence.machine.certificate_ends else {
        return Ok("REST over TLS is not configured, or its alert says more".to_owned());
    };
    let left = ends.duration_since(evidence.now);
    let fix = "put a new one in place, and restart the array: [tls] cert and key in the configuration";
    let days = left.as_hours() / 24;
    if left.is_negative() {
        return Err(fail(format!("has expired on {}", ends.strftime("%F")), fix));
    }
    if left < AT_ONCE {
        return Err(fail(format!("expires in {}", count(usize::try_from(days).unwrap_or(0), "day")), fix));
    }
    if left < SOON {
        return Err(warning(format!("expires in {}", count(usize::try_from(days).unwrap_or(0), "day")), fix));
    }
    Ok(format!("is valid until {}", ends.strftime("%F")))
}
