//! Documents in both forms, refusals, and random differences.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::{Configuration, Format, Invalid, Kind, Op, Plan, Step};
use api::Reserve;
use jiff::Timestamp;
use random::Random;
use serde_json::Value;

const WHOLE: &str = include_str!("tests/whole.toml");

fn read(text: &str) -> Result<Configuration, Invalid> {
    Configuration::read(text, Format::Toml)
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn planned(present: &Configuration, wanted: Configuration) -> Result<Plan, Invalid> {
    Plan::new(present, wanted, now())
}

/// Document whose only object is a volume.
fn volume(name: &str, size_bytes: u64) -> crate::Volume {
    crate::Volume {
        name: name.to_owned(),
        size_bytes,
        reserve: Reserve::Thin,
        overwrite_reserve_percent: None,
        zero_detection: true,
        write_cache: false,
        warn_percent: None,
        critical_percent: None,
        qos_policy: None,
        labels: Default::default(),
    }
}

#[test]
fn a_document_is_the_same_after_both_forms() {
    let whole = read(WHOLE).unwrap();
    let toml = whole.write(Format::Toml).unwrap();
    let json = whole.write(Format::Json).unwrap();
    for secret in ["chap-secret-1", "mutual-secret", "mail-password", "hook-secret", "user-password"] {
        assert!(WHOLE.contains(secret), "{secret} is not in the document");
        assert!(!toml.contains(secret) && !json.contains(secret), "{secret} is exported");
    }
    let (from_toml, from_json) = (read(&toml).unwrap(), Configuration::read(&json, Format::Json).unwrap());
    for again in [&from_toml, &from_json] {
        assert_eq!(again.write(Format::Toml).unwrap(), toml);
        assert_eq!(again.digest(), whole.digest());
        assert_eq!(planned(&whole, again.clone()).unwrap().steps, []);
    }
    assert_eq!(whole.secrets(Kind::Host, "esx01").unwrap()["secret"], "chap-secret-1");
    assert!(Kind::ALL.into_iter().all(|kind| toml.contains(&format!("# {}", kind.about()))));
}

#[test]
fn bad_documents_are_refused_with_field_and_line() {
    for (text, field, line, reason) in [
        ("format = 1\ncolour = 1\n", "colour", Some(2), "unknown field"),
        ("format = 1\n[[host]]\nname = \"h1\"\niqn = []\n", "iqn", Some(4), "unknown field"),
        ("format = 1\n[[volume\n", "", Some(2), ""),
        ("format = 2\n", "format", None, "2 is not a known form"),
        ("", "format", Some(1), "missing field"),
        ("format = 1\nhost = [{ name = \"a b\", iqns = [] }]\n", "host.a b.name", None, "only letters"),
        (
            "format = 1\nhost = [{ name = \"h1\" }, { name = \"h1\" }]\n",
            "host.h1.name",
            None,
            "two objects of this kind have the same name",
        ),
        (
            "format = 1\nhost = [{ name = \"h1\", iqns = [\"iqn.2026-01.x:A\"] }, { name = \"h2\", iqns = [\"iqn.2026-01.x:a\"] }]\n",
            "host.h2.iqns",
            None,
            "belongs to another host",
        ),
        (
            "format = 1\naccess = [{ volume = \"v1\", host = \"any\", lun = 1 }, { volume = \"v2\", host = \"any\", lun = 1 }]\n",
            "access.v2 any.lun",
            None,
            "logical unit number 1",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.field.as_str(), error.line), (field, line), "{text}: {error}");
        assert!(error.reason.contains(reason), "{text}: {error}");
    }
    let unknown = Configuration::read("{\n \"format\": 1,\n \"tape\": []\n}", Format::Json).unwrap_err();
    assert_eq!((unknown.field.as_str(), unknown.line), ("tape", Some(3)));
    let large = format!("format = 1\n#{}", " ".repeat(api::MAX_DOCUMENT_BYTES));
    assert!(read(&large).unwrap_err().reason.contains("larger than 8388608 bytes"));
    for (text, field) in [
        ("format = 1\naccess = [{ volume = \"v9\", host = \"any\", lun = 1 }]\n", "access.v9 any.volume"),
        ("format = 1\nhost_group = [{ name = \"g\", hosts = [\"h9\"] }]\n", "host_group.g.hosts"),
    ] {
        let error = planned(&Configuration::default(), read(text).unwrap()).unwrap_err();
        assert_eq!(error.field, field);
    }
}

#[test]
fn steps_that_cannot_be_taken_say_why() {
    let mut present = Configuration::default();
    present.add(vec![volume("v1", 2048), volume("v2", 1024)]).unwrap();
    present
        .add(vec![crate::Portal { listen: "a".to_owned(), group: 1, redirect: None, redirect_permanently: false }])
        .unwrap();
    present.note_snapshots(Kind::Volume, "v2", 3);
    let mut wanted = Configuration::default();
    wanted.add(vec![volume("v1", 1024)]).unwrap();
    wanted
        .add(vec![crate::Portal { listen: "b".to_owned(), group: 1, redirect: None, redirect_permanently: false }])
        .unwrap();
    let plan = planned(&present, wanted.clone()).unwrap();
    let problem = |kind: Kind, name: &str| {
        let step = plan.steps.iter().find(|step| step.kind == kind && step.name == name).unwrap();
        step.problem.clone().unwrap_or_default()
    };
    assert!(problem(Kind::Volume, "v1").contains("size_bytes: a volume does not shrink, from 2048 to 1024 bytes"));
    assert!(problem(Kind::Volume, "v2").contains("deleted first: 3"));
    assert!(problem(Kind::Portal, "b").contains("windlass.toml"));
    assert_eq!((plan.steps.len(), plan.problems(), plan.removes_content()), (3, 3, true));
}

/// Applies steps to a configuration as a map, and nothing else.
fn applied(present: &Configuration, steps: &[Step]) -> Vec<(Kind, String, Value)> {
    let mut objects: std::collections::BTreeMap<(Kind, String), crate::Fields> = Kind::ALL
        .into_iter()
        .flat_map(|kind| {
            present.objects(kind).into_iter().flatten().map(move |(name, of)| ((kind, name.clone()), of.clone()))
        })
        .collect();
    for step in steps {
        let key = (step.kind, step.name.clone());
        if step.op == Op::Remove {
            objects.remove(&key).unwrap();
            continue;
        }
        let fields = objects.entry(key).or_default();
        for (name, (before, after)) in &step.change {
            assert_eq!(fields.get(name).cloned().unwrap_or_default(), *before);
            if after.is_null() { drop(fields.remove(name)) } else { drop(fields.insert(name.clone(), after.clone())) }
        }
    }
    objects.into_iter().map(|((kind, name), fields)| (kind, name, fields.into())).collect()
}

/// Steps lead from any configuration to any other, and none are left then.
#[test]
fn random_configurations_converge() {
    let random = Random::new(11);
    let any = || {
        let mut configuration = Configuration::default();
        let some = |bound| (0..bound).filter(|_| random.chance(50)).collect::<Vec<u64>>();
        let volumes = some(8).into_iter().map(|at| {
            let mut one = volume(&format!("v{at}"), 512 << random.below(3));
            one.write_cache = random.chance(50);
            one.warn_percent = random.chance(50).then_some(80);
            one
        });
        configuration.add(volumes.collect::<Vec<_>>()).unwrap();
        let hosts = some(8).into_iter().map(|at| crate::Host {
            name: format!("h{at}"),
            iqns: some(3).into_iter().map(|of| format!("iqn.2026-01.org.example:{at}-{of}")).collect(),
            addresses: Vec::new(),
            qos_policy: None,
            chap: random.chance(30).then(|| crate::Chap {
                user: format!("u{}", random.below(2)),
                secret: None,
                mutual_user: random.chance(50).then(|| "array".to_owned()),
                mutual_secret: None,
            }),
        });
        configuration.add(hosts.collect::<Vec<_>>()).unwrap();
        configuration
    };
    for _ in 0..200 {
        let (present, wanted) = (any(), any());
        let plan = planned(&present, wanted.clone()).unwrap();
        assert_eq!(applied(&present, &plan.steps), applied(&wanted, &[]));
        assert_eq!(plan.base, present.digest());
        assert_eq!(present.digest() == wanted.digest(), plan.steps.is_empty());
    }
}

/// Steps from one document to another, as `op kind name: problem or note`.
fn steps(before: &str, after: &str) -> Vec<String> {
    let plan = planned(&read(before).unwrap(), read(after).unwrap()).unwrap();
    let word = |step: &Step| {
        let about = step.problem.clone().or_else(|| step.note.clone()).unwrap_or_default();
        format!("{} {} {}: {about}", step.op.name(), step.kind.name(), step.name)
    };
    plan.steps.iter().map(word).collect()
}

#[test]
fn volumes_and_hosts_have_policies_that_exist() {
    let policy = "qos_policy = [{ name = \"bronze\", iops = 2000, weight = 100 }]\n";
    for object in [
        "host = [{ name = \"h1\", addresses = [\"192.0.2.7\"], qos_policy = \"bronze\" }]\n",
        "volume = [{ name = \"v9\", size_bytes = 512, reserve = \"thin\", zero_detection = true, write_cache = false, qos_policy = \"bronze\" }]\n",
    ] {
        let none = read("format = 1\nqos_policy = []\nhost = []\nvolume = []\n").unwrap();
        let with = read(&format!("format = 1\n{policy}{object}")).unwrap();
        assert_eq!(planned(&none, with).unwrap().steps.len(), 2, "{object}");
        let error = planned(&none, read(&format!("format = 1\n{object}")).unwrap()).unwrap_err();
        assert_eq!(error.reason, "there is no qos policy \"bronze\"", "{object}");
    }
}

/// Schedules may have shares, and were refused for the want of a volume of that name.
#[test]
fn a_schedule_has_volumes_and_shares() {
    let schedule = |member: &str| {
        let times = "keep_last = 1, when = { daily = { minute = 1 } }";
        read(&format!(
            "format = 1\nschedule = [{{ name = \"n\", zone = \"UTC\", volumes = [\"{member}\"], {times} }}]\n"
        ))
    };
    let whole = read(WHOLE).unwrap();
    for member in ["docs", "v1"] {
        assert_eq!(planned(&whole, schedule(member).unwrap()).unwrap().problems(), 0, "{member}");
    }
    let error = planned(&whole, schedule("esx01").unwrap()).unwrap_err();
    assert_eq!(
        (error.field.as_str(), error.reason.as_str()),
        ("schedule.n.volumes", "there is no volume or share \"esx01\"")
    );
}

fn channel(name: &str, settings: &str) -> String {
    format!(
        "format = 1\n[[channel]]\nname = \"{name}\"\nenabled = true\nmin_severity = \"warning\"\nsettings = {{ {settings} }}\n"
    )
}

/// An absent `has_secret` took the secret away and replaced the channel; the reason for a password was looked for in
/// fewer fields than the array does; a user without a password never converged.
#[test]
fn channels_keep_and_lose_their_secrets_as_the_array_does() {
    let hook = |more: &str| channel("hook", &format!("kind = \"webhook\", url = \"https://h.example.org/x\"{more}"));
    let mail = |more: &str| {
        let settings =
            "kind = \"email\", server = \"m.example.org\", from = \"a@example.org\", to = [\"b@example.org\"]";
        channel("mail", &format!("{settings}{more}"))
    };
    let signed = hook(", has_secret = true");
    assert_eq!(steps(&signed, &hook("")), [""; 0]);
    assert_eq!(steps(&hook(", has_secret = false"), &hook("")), [""; 0]);
    assert!(
        steps(&signed, &hook(", has_secret = false"))[0].contains("change channel hook: its HMAC secret is removed")
    );
    assert!(steps(&signed, &hook(", secret = \"\""))[0].contains("its HMAC secret is removed"));
    let elsewhere = signed.replace("/x", "/y");
    assert!(steps(&signed, &elsewhere.replace(", has_secret = true", ""))[0].contains("its HMAC secret is generated"));
    let syslog = channel("hook", "kind = \"syslog\", server = \"s.example.org\"");
    assert!(steps(&signed, &syslog)[0].contains("it is replaced by a channel of another kind"));
    let known = mail(", user = \"u\", has_password = true");
    assert_eq!(steps(&known, &mail(", user = \"u\"")), [""; 0]);
    for (more, is_stated) in [
        (", user = \"u\", has_password = true, port = 465", false),
        (", user = \"u\", has_password = true, tls = \"tls\"", false),
        (", user = \"u\", port = 465, password = \"p\"", true),
    ] {
        assert_eq!(
            steps(&known, &mail(more))[0].contains("settings.password: the document has to state"),
            !is_stated,
            "{more}"
        );
    }
    for more in [", user = \"u\", has_password = false", ", has_password = true", ", user = \"new\", password = \"\""] {
        assert!(steps(&known, &mail(more))[0].contains("settings.password: a user has a password"), "{more}");
    }
    assert!(steps("format = 1\nchannel = []\n", &mail(", user = \"u\""))[0].contains("settings.password: a user has"));
}

/// Other spellings of one name or network removed the object and made it again, at each apply.
#[test]
fn spellings_are_no_changes() {
    let export = |host: &str| {
        let rest = "read_only = true, squash = \"root\", anonymous_uid = 1, anonymous_gid = 1, privileged_port = false";
        format!("format = 1\nexport = [{{ share = \"docs\", host = \"{host}\", {rest} }}]\n")
    };
    let share =
        "share = [{ name = \"docs\", protocols = [], copy = \"share\", owner_uid = 0, owner_gid = 0, mode = \"0\" }]\n";
    let of = |host: &str| export(host) + share;
    for spelling in ["FD00::/64", "fd00:0:0::/64", "fd00::0/64"] {
        assert_eq!(steps(&of("fd00::/64"), &of(spelling)), [""; 0], "{spelling}");
    }
    for wrong in ["fd00::/129", "10.0.0/8", "::ffff:10.0.0.0/104"] {
        assert_eq!(read(&export(wrong)).unwrap_err().field, format!("export.docs {wrong}.host"));
    }
    let people = |user: &str, token: &str, network: &str| {
        let token =
            format!("token = [{{ name = \"{token}\", role = \"viewer\", scopes = {{ networks = [\"{network}\"] }} }}]");
        format!("format = 1\nuser = [{{ name = \"{user}\", role = \"admin\", password = \"p\" }}]\n{token}\n")
    };
    let present = people("ana", "csi", "fd00::/64");
    assert_eq!(steps(&present, &people("Ana", "CSI", "FD00:0::/64")), [""; 0]);
    assert_eq!(
        steps(&present, &people("Ana", "csi", "fd00::/65"))[0],
        "change token csi: it is replaced: a new secret is generated, and shown once"
    );
    let twice = "format = 1\nuser = [{ name = \"ana\", role = \"admin\" }, { name = \"Ana\", role = \"viewer\" }]\n";
    assert_eq!(read(twice).unwrap_err().field, "user.Ana.name");
    // Secrets follow the spelling of the array.
    let planned =
        planned(&read(&people("ana", "csi", "fd00::/64")).unwrap(), read(&people("ANA", "csi", "fd00::/64")).unwrap())
            .unwrap();
    assert_eq!(planned.wanted.secrets(Kind::User, "ana").unwrap()["password"], "p");
}

/// An export with an expired token, or with that of `admin.token`, failed in its apply.
#[test]
fn tokens_that_cannot_be_made_are_problems() {
    let token = |name: &str, expires: &str| {
        format!("format = 1\ntoken = [{{ name = \"{name}\", role = \"viewer\", expires = \"{expires}\" }}]\n")
    };
    let none = "format = 1\ntoken = []\n";
    let (past, future) = ("2026-05-31T00:00:00Z", "2026-07-01T00:00:00Z");
    assert_eq!(steps(none, &token("a", past)), ["add token a: expires: 2026-05-31T00:00:00Z is past"]);
    assert!(steps(none, &token("Bootstrap", future))[0].contains("the array makes the token of this name itself"));
    assert_eq!(
        steps(none, &token("a", future)),
        ["add token a: its secret is generated, and shown once after the apply"]
    );
    // A new token takes the place of an expired one of its name.
    let mut present = read(none).unwrap();
    present
        .note_expired(vec![crate::Token {
            name: "A".to_owned(),
            role: api::Role::Viewer,
            expires: Some(past.parse().unwrap()),
            scopes: Default::default(),
        }])
        .unwrap();
    let plan = planned(&present, read(&token("a", future)).unwrap()).unwrap();
    assert_eq!((plan.steps[0].op, plan.steps[0].name.as_str(), plan.problems()), (Op::Change, "A", 0));
    assert_eq!(planned(&present, read(none).unwrap()).unwrap().steps, []);
}

#[test]
fn names_that_the_array_refuses_are_refused() {
    let named = |kind: &str, name: &str| read(&format!("format = 1\n{kind} = [{{ name = \"{name}\" }}]\n"));
    assert!(named("host", "any").unwrap_err().reason.contains("every host"));
    let id = "00000000-0000-4000-8000-000000000000";
    assert!(named("host_group", id).unwrap_err().reason.contains("looks like an id"));
    assert!(named("host_group", "any").is_ok());
}

#[test]
fn a_document_has_a_bounded_number_of_objects() {
    let groups = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("{{name=\"g{at}\"}}")).collect();
        read(&format!("format = 1\nhost_group = [{}]\n", names.join(",")))
    };
    assert!(groups(crate::document::MAX_OBJECTS).is_ok());
    assert!(groups(crate::document::MAX_OBJECTS + 1).unwrap_err().reason.contains("more than 32768 objects"));
}
