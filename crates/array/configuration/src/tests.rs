//! Documents in both forms, refusals, and random differences.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::{Configuration, Format, Invalid, Kind, Op, Plan, Step};
use api::Reserve;
use random::Random;
use serde_json::Value;

const WHOLE: &str = include_str!("tests/whole.toml");

fn read(text: &str) -> Result<Configuration, Invalid> {
    Configuration::read(text, Format::Toml)
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
        assert_eq!(Plan::new(&whole, again).unwrap().steps, []);
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
        ("format = 1\nhost = [{ name = \"a b\", iqns = [] }]\n", "host.a b.name", None, "a name is"),
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
    let large = format!("format = 1\n#{}", " ".repeat(crate::MAX_DOCUMENT_BYTES));
    assert!(read(&large).unwrap_err().reason.contains("larger than 8388608 bytes"));
    for (text, field) in [
        ("format = 1\naccess = [{ volume = \"v9\", host = \"any\", lun = 1 }]\n", "access.v9 any.volume"),
        ("format = 1\nhost_group = [{ name = \"g\", hosts = [\"h9\"] }]\n", "host_group.g.hosts"),
    ] {
        let error = Plan::new(&Configuration::default(), &read(text).unwrap()).unwrap_err();
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
    let plan = Plan::new(&present, &wanted).unwrap();
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
        let plan = Plan::new(&present, &wanted).unwrap();
        assert_eq!(applied(&present, &plan.steps), applied(&wanted, &[]));
        assert_eq!(plan.base, present.digest());
        assert_eq!(present.digest() == wanted.digest(), plan.steps.is_empty());
    }
}
