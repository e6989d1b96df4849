//! The whole text of each plan, as files that people compare with the documentation of the vendors, and hostile names,
//! which real shells read. `WINDLASS_UPDATE_PLANS=1` writes the files.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use connect::{
    Chap, Command, Directory, Facts, Plan, Server, ShareAddress, ShareFacts, ShareRule, Shell, Step, System, of_share,
    of_volume,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn facts() -> Facts {
    Facts {
        host: "esx01".to_owned(),
        initiators: vec!["iqn.1998-01.com.vmware:esx01".to_owned()],
        chap: Some(Chap { user: "esx01".to_owned(), mutual_user: None }),
        volume: "win-dc1".to_owned(),
        naa: "6001405a3f1c2b4d8e9f001122334455".to_owned(),
        size_bytes: 100 << 30,
        lun: Some(4),
        other_volumes: 2,
        target: "iqn.2026-01.org.example:prod-1".to_owned(),
        portals: vec!["10.0.0.50:3260".to_owned(), "10.0.1.50:3260".to_owned()],
        adapter: None,
    }
}

fn written(plan: &Plan) -> String {
    let mut text = String::new();
    for warning in &plan.warnings {
        writeln!(text, "warning: {warning}").unwrap();
    }
    for placeholder in &plan.placeholders {
        writeln!(text, "{}: {}", placeholder.text, placeholder.meaning).unwrap();
    }
    for step in &plan.steps {
        let optional = if step.optional { ", optional" } else { "" };
        let once = if step.once_per_host { ", once for each host" } else { "" };
        writeln!(text, "\n## {}: {} ({}{once}{optional})\n{}\n", step.id, step.title, step.place, step.why).unwrap();
        step.commands.iter().for_each(|command| write_command(&mut text, command));
    }
    writeln!(text, "\n## undo\n").unwrap();
    plan.undo().for_each(|command| write_command(&mut text, command));
    plan.undo_note.iter().for_each(|note| writeln!(text, "\n{note}").unwrap());
    if let Some(warning) = &plan.undo_host_warning {
        writeln!(text, "\n## undo of the host\n\n{warning}").unwrap();
    }
    plan.undo_host().for_each(|command| write_command(&mut text, command));
    text
}

fn write_command(text: &mut String, command: &Command) {
    match &command.file {
        Some(file) => writeln!(text, "[{}: {file}]\n{}", command.shell.name(), command.text).unwrap(),
        None => writeln!(text, "[{}] {}", command.shell.name(), command.text).unwrap(),
    }
}

fn compare(name: &str, plan: &Plan) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = written(plan);
    if std::env::var_os("WINDLASS_UPDATE_PLANS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name}: WINDLASS_UPDATE_PLANS=1 writes it");
}

#[test]
fn the_plan_of_each_system_is_its_file() {
    for system in System::ALL {
        compare(&format!("{}.txt", system.name()), &of_volume(system, &facts()));
    }
}

/// Regression: the plan for Kubernetes left the array's part out, so that nodes did not check whom they had reached.
#[test]
fn a_plan_with_mutual_chap_has_both_secrets() {
    let chap = Chap { user: "esx01".to_owned(), mutual_user: Some("array-user".to_owned()) };
    let facts = Facts { chap: Some(chap), ..facts() };
    for system in System::ALL {
        let text = written(&of_volume(system, &facts));
        let has_both = text.contains(connect::CHAP_SECRET) && text.contains(connect::ARRAY_SECRET);
        // A storage pool of libvirt has no place for the second.
        assert_eq!(has_both, system != System::Libvirt, "{}", system.name());
    }
}

#[test]
fn a_host_without_a_password_and_an_adapter_has_shorter_plans() {
    let facts = Facts { chap: None, adapter: Some("vmhba64".to_owned()), lun: None, ..facts() };
    let plan = of_volume(System::Esxi, &facts);
    assert!(
        plan.placeholders.iter().all(|placeholder| placeholder.text == connect::DATASTORE),
        "{:?}",
        plan.placeholders
    );
    assert_eq!(
        plan.warnings,
        ["volume win-dc1 is not granted to host esx01; grant it:  windlass access grant win-dc1 --host esx01"]
    );
    assert!(plan.steps.iter().all(|step| step.id != "chap"));
}

fn share_facts() -> ShareFacts {
    let rule = ShareRule { host: "pve1".to_owned(), read_only: false, squash: "none" };
    ShareFacts {
        share: "vms".to_owned(),
        path: "/vms".to_owned(),
        v4: true,
        host: "pve1".to_owned(),
        addresses: vec![ShareAddress { address: "10.0.0.11".to_owned(), rule: Some(rule) }],
        directory: Directory::parse("/mnt/vms").unwrap(),
    }
}

#[test]
fn a_share_has_a_plan() {
    let server = Server::parse("192.0.2.7:12049").unwrap();
    compare("linux-share.txt", &of_share(&share_facts(), &server));
    assert!(Server::parse("192.0.2.7:nfs").is_err() && Server::parse("192.0.2.7:99999").is_err());
    assert_eq!(Server::parse("fd00::7").unwrap().source("/a"), "[fd00::7]:/a");
    let v3 = "vers=3,hard,proto=tcp,nolock,mountport=2049,ro";
    assert_eq!(Server::parse("[fd00::7]").unwrap().options(false, true), v3);
}

#[test]
fn the_rules_of_a_share_decide_about_warnings_and_options() {
    let server = Server::parse("192.0.2.7").unwrap();
    let of = |addresses: &[(&str, Option<bool>)]| {
        let address = |(address, read_only): &(&str, Option<bool>)| {
            let rule =
                read_only.map(|read_only| ShareRule { host: "10.0.0.0/8".to_owned(), read_only, squash: "root" });
            ShareAddress { address: (*address).to_owned(), rule }
        };
        of_share(&ShareFacts { addresses: addresses.iter().map(address).collect(), ..share_facts() }, &server)
    };
    let mounted = |plan: &Plan| plan.steps.iter().find(|step| step.id == "mount").unwrap().clone();
    let reads = of(&[("10.0.0.1", Some(true)), ("10.0.0.2", Some(true)), ("192.0.2.9", None)]);
    let refused = "no rule of share vms is about address 192.0.2.9 of host pve1, which may not mount it from there; grant it:  \
                   windlass access grant vms --host pve1";
    assert_eq!(reads.warnings, [refused]);
    let step = mounted(&reads);
    assert_eq!(
        step.title, "Mount share vms on pve1 (read-only, squash root, by the rule for 10.0.0.0/8)",
        "a rule once"
    );
    assert!(step.commands[1].text.contains(",ro "), "{step:?}");
    // A host that may not write is given no sample that writes.
    assert!(reads.steps.iter().flat_map(|step| &step.commands).all(|command| !command.text.contains("mktemp")));
    assert!(!mounted(&of(&[("10.0.0.1", Some(true)), ("10.0.0.2", Some(false))])).commands[1].text.contains(",ro "));
    let nowhere = of(&[]);
    let unknown =
        "host pve1 has no address, by which the rules know it; give it one:  windlass host set pve1 --address ADDRESS";
    assert_eq!(
        (nowhere.warnings.as_slice(), mounted(&nowhere).title.as_str()),
        ([unknown.to_owned()].as_slice(), "Mount share vms on pve1")
    );
}

/// An array has one target: the undo of one volume logged the host out of it, and took all volumes of the host away.
#[test]
fn undo_of_a_volume_leaves_the_sessions_of_the_others() {
    for system in System::ALL {
        let plan = of_volume(system, &facts());
        assert!(plan.undo().next().is_some(), "{system:?}");
        for command in plan.undo().filter(|command| command.file.is_none()) {
            for shared in [
                "iscsiadm",
                "sendtarget",
                "session remove",
                "claimrule",
                "satp",
                "/etc/multipath",
                "IscsiTarget",
                "virsh secret",
            ] {
                assert!(!command.text.contains(shared), "{system:?}: {}", command.text);
            }
            let names =
                ["6001405a3f1c2b4d8e9f001122334455", "6001405A3F1C2B4D8E9F001122334455", "win-dc1", "DATASTORE"];
            assert!(names.iter().any(|name| command.text.contains(name)), "{system:?}: {}", command.text);
        }
        let sessions = plan.undo_host().any(|command| {
            ["iscsiadm -m node", "session remove", "Disconnect-IscsiTarget", "secret-undefine"]
                .iter()
                .any(|verb| command.text.contains(verb))
        });
        assert_eq!(sessions, system != System::Kubernetes, "the kubelet logs in and out by itself");
        assert_eq!(plan.undo_host_warning.is_some(), sessions);
    }
    let warning =
        |other_volumes| of_volume(System::Linux, &Facts { other_volumes, ..facts() }).undo_host_warning.unwrap();
    assert_eq!(
        warning(2),
        "these commands take host esx01 off the array; it may use 2 other volumes, which it loses too"
    );
    assert_eq!(warning(0), "these commands take host esx01 off the array; it may use no other volume");
}

/// Scratch directory of one test, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("windlass-connect-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    /// Names at its top.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left lies in the directory of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The undo of a volume deletes its paths on a Linux host, and no disk of another volume or with a holder.
#[test]
fn undo_deletes_the_disks_of_one_volume() {
    let scratch = Scratch::new("disks");
    let disk = |name: &str, wwid: &str, holder: bool| {
        let disk = scratch.0.join("block").join(name);
        std::fs::create_dir_all(disk.join("device")).unwrap();
        std::fs::create_dir_all(disk.join("holders")).unwrap();
        std::fs::write(disk.join("device/wwid"), format!("{wwid}\n")).unwrap();
        if holder {
            std::fs::write(disk.join("holders/dm-0"), "").unwrap();
        }
    };
    let own = "naa.6001405a3f1c2b4d8e9f001122334455";
    disk("sda", "naa.5000c500a1b2c3d4", false);
    disk("sdb", own, false);
    disk("sdc", own, false);
    disk("sdd", "naa.6001405a3f1c2b4d8e9f001122334456", false);
    disk("sde", own, true);
    let plan = of_volume(System::Linux, &facts());
    let command = plan.undo().find(|command| command.text.contains("/sys/block/")).unwrap();
    let script = command.text.replace("/sys/block", &scratch.0.join("block").display().to_string());
    let ran = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    assert!(ran.stderr.is_empty(), "{ran:?}");
    let deleted = ["sda", "sdb", "sdc", "sdd", "sde"]
        .map(|name| std::fs::read_to_string(scratch.0.join("block").join(name).join("device/delete")).ok());
    let gone = || Some("1\n".to_owned());
    assert_eq!(deleted, [None, gone(), gone(), None, None]);
}

/// Two volumes of a host had the same files, objects and disk, so that the undo of one took the other away.
#[test]
fn nothing_that_two_volumes_make_on_a_host_has_one_name() {
    let other = Facts {
        volume: "win_dc1".to_owned(),
        naa: "6001405a3f1c2b4d8e9f001122334456".to_owned(),
        lun: Some(5),
        ..facts()
    };
    for system in System::ALL {
        let own = |facts: &Facts| {
            let steps = of_volume(system, facts).steps.into_iter().filter(|step| !step.once_per_host);
            let made = steps.flat_map(|step: Step| step.commands.into_iter().chain(step.undo));
            made.collect::<Vec<Command>>()
        };
        let (first, second) = (own(&facts()), own(&other));
        let files: Vec<&String> = first.iter().filter_map(|command| command.file.as_ref()).collect();
        assert!(
            second.iter().filter_map(|command| command.file.as_ref()).all(|file| !files.contains(&file)),
            "{files:?}"
        );
        let undone =
            |facts: &Facts| of_volume(system, facts).undo().map(|command| command.text.clone()).collect::<Vec<_>>();
        // A datastore has the name that the administrator gave it.
        let shared = undone(&facts()).into_iter().filter(|text| !text.contains("DATASTORE"));
        let second = undone(&other);
        assert!(shared.into_iter().all(|text| !second.contains(&text)), "{system:?}: {second:?}");
    }
    // The system disk of a machine is sda: the administrator chooses another name.
    let disk = of_volume(System::Libvirt, &facts());
    assert!(disk.undo().all(|command| !command.text.contains("sda")));
    assert!(disk.placeholders.iter().any(|placeholder| placeholder.text == connect::DEVICE));
}

/// The check of a share cloned, grew and punched files that might be there already. It makes files of its own.
#[test]
fn a_sample_leaves_the_files_of_a_share_alone() {
    let scratch = Scratch::new("sample");
    for name in ["A", "B", "C"] {
        std::fs::write(scratch.0.join(name), name).unwrap();
    }
    let directory = Directory::parse(scratch.0.to_str().unwrap()).unwrap();
    let server = Server::parse("192.0.2.7").unwrap();
    let plan = of_share(&ShareFacts { directory, ..share_facts() }, &server);
    let look = plan.steps.iter().find(|step| step.id == "check").unwrap();
    assert!(look.optional);
    // File systems differ in what they can do; the files that exist are untouched whether it succeeds or not.
    let mut ran = 0;
    for command in look.commands.iter().filter(|command| command.text.contains(scratch.0.to_str().unwrap())) {
        std::process::Command::new("/bin/sh").args(["-c", &command.text]).output().unwrap();
        ran += 1;
    }
    assert_eq!((ran, scratch.names()), (2, vec!["A".to_owned(), "B".to_owned(), "C".to_owned()]));
    for name in ["A", "B", "C"] {
        assert_eq!(std::fs::read_to_string(scratch.0.join(name)).unwrap(), name);
    }
}

/// Words in capitals that belong to a command.
const OWN_WORDS: [&str; 26] = [
    "ALLOCATE",
    "ARRAY",
    "CHAP",
    "CLONE",
    "COPY",
    "DISC-MAX",
    "END",
    "EQ",
    "GPT",
    "I",
    "IO",
    "MODEL",
    "MUTUALCHAP",
    "NAME",
    "NTFS",
    "O",
    "ONEWAYCHAP",
    "P",
    "REDHAT",
    "RR",
    "SIZE",
    "T",
    "VAAI",
    "VENDOR",
    "VOLUME",
    "WINDLASS",
];

/// Some placeholders were in no list, and nothing said that they are to be replaced.
#[test]
fn every_word_in_capitals_is_a_placeholder() {
    let nowhere = Facts { portals: Vec::new(), lun: None, ..facts() };
    let mutual =
        Facts { chap: Some(Chap { user: "esx01".to_owned(), mutual_user: Some("array".to_owned()) }), ..facts() };
    let mut seen = std::collections::BTreeSet::new();
    for facts in [facts(), nowhere, mutual] {
        for system in System::ALL {
            let plan = of_volume(system, &facts);
            let commands = plan.steps.iter().flat_map(|step| step.commands.iter().chain(&step.undo));
            for command in commands {
                assert!(!command.text.contains('…'), "{}", command.text);
                let text = command.text.lines().filter(|line| !line.trim_start().starts_with('#'));
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                for word in text.flat_map(|line| line.split(|c| !is_part(c))) {
                    let is_capital = word.starts_with(|c: char| c.is_ascii_uppercase())
                        && word.chars().all(|c| c.is_ascii_uppercase() || c == '-');
                    if !is_capital || OWN_WORDS.contains(&word) {
                        continue;
                    }
                    seen.insert(word.to_owned());
                    assert!(
                        plan.placeholders.iter().any(|placeholder| placeholder.text == word),
                        "{system:?}: {word} in {}",
                        command.text
                    );
                }
            }
        }
    }
    let all = ["ADAPTER", "ADDRESS", "ARRAY-SECRET", "CHAP-SECRET", "DATASTORE", "DEVICE", "DOMAIN", "LUN", "OPTIONS"];
    assert!(seen.iter().eq(all), "{seen:?}");
}

/// A secret may have every printable character: pasted over its placeholder, it is in quotes already.
#[test]
fn a_secret_is_pasted_between_quotes() {
    let secret = "a$(id)`id`;b\"\\#&x";
    for system in System::ALL {
        let chap = Some(Chap { user: "esx01".to_owned(), mutual_user: Some("array".to_owned()) });
        let plan = of_volume(system, &Facts { chap, ..facts() });
        let mut pasted = 0;
        for command in plan.steps.iter().flat_map(|step| &step.commands) {
            for placeholder in [connect::CHAP_SECRET, connect::ARRAY_SECRET] {
                if !command.text.contains(placeholder) {
                    continue;
                }
                assert!(command.text.contains(&format!("'{placeholder}'")), "{}", command.text);
                pasted += 1;
                let text = command.text.replace(placeholder, secret);
                if command.shell == Shell::Yaml {
                    let read: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
                    let key = if placeholder == connect::CHAP_SECRET { "password" } else { "password_in" };
                    for session in ["node.session", "discovery.sendtargets"] {
                        assert_eq!(read["stringData"][format!("{session}.auth.{key}")], secret);
                    }
                }
                if matches!(command.shell, Shell::Sh | Shell::Esxi) {
                    // A function in place of the program prints the arguments as they come.
                    let first = text.split_once("; do\n  ").map_or(text.as_str(), |(_loop, first)| first);
                    let (program, _) = first.trim_start_matches("(umask 077; ").split_once(' ').unwrap();
                    let text = text.replace(" >windlass.secret", "");
                    let script = format!(
                        "{program}() {{ for word; do echo_word \"$word\"; done; }}\necho_word() {{ command printf '%s\\n' \"$1\"; }}\n{text}"
                    );
                    let shell = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
                    let words = String::from_utf8(shell.stdout).unwrap();
                    let is_secret = |word: &str| word == secret || word.strip_prefix("--secret=") == Some(secret);
                    assert!(words.lines().any(is_secret), "{script}\n{words}");
                }
            }
        }
        assert!(pasted > 0, "{system:?}");
    }
}

/// Runs a script without any program: only what the shell itself does, such as a redirection, has an effect. Returns
/// the names of the files that it made, apart from those of the plans.
fn files_made(scratch: &Scratch, script: &str) -> Vec<String> {
    let etc = scratch.0.join("etc");
    for directory in ["iscsi", "multipath/conf.d"] {
        std::fs::create_dir_all(etc.join(directory)).unwrap();
    }
    let script = script.replace(">/etc/", ">etc/").replace(">windlass.secret", ">etc/secret");
    let shell =
        std::process::Command::new("/bin/sh").args(["-c", &script]).env("PATH", "").current_dir(&scratch.0).output();
    shell.unwrap();
    scratch.names().into_iter().filter(|name| name != "etc").collect()
}

/// Text that the array would refuse as a name, in case it reaches a plan.
const EVIL: &str = "x'; : >here; echo $(: >here) `: >here` \"\" #\n: >here\n</a><!-- & \\n{}: [\u{2019}; : >here";

fn hostile() -> Facts {
    let evil = || EVIL.to_owned();
    Facts {
        host: evil(),
        initiators: vec![evil()],
        chap: Some(Chap { user: evil(), mutual_user: Some(evil()) }),
        volume: evil(),
        target: evil(),
        portals: vec![evil(), evil()],
        adapter: Some(evil()),
        ..facts()
    }
}

fn hostile_share(v4: bool) -> Plan {
    let evil = || EVIL.to_owned();
    let rule = ShareRule { host: evil(), read_only: false, squash: "none" };
    let facts = ShareFacts {
        share: evil(),
        path: format!("/{EVIL}"),
        v4,
        host: evil(),
        addresses: vec![ShareAddress { address: evil(), rule: Some(rule) }],
        directory: Directory::parse("/x';:>here;$(:>here)`:>here`\"#").unwrap(),
    };
    of_share(&facts, &Server::parse("192.0.2.7").unwrap())
}

fn commands(plan: &Plan) -> impl Iterator<Item = &Command> {
    plan.steps.iter().flat_map(|step| step.commands.iter().chain(&step.undo))
}

/// A shell reads each hostile name as one word, and files get lines as they were meant.
#[test]
fn a_shell_runs_nothing_of_a_name() {
    let scratch = Scratch::new("shell");
    let mut ran = 0;
    let plans = System::ALL.map(|system| of_volume(system, &hostile()));
    for plan in plans.iter().chain(&[hostile_share(true), hostile_share(false)]) {
        for command in commands(plan).filter(|command| matches!(command.shell, Shell::Sh | Shell::Esxi)) {
            assert_eq!(files_made(&scratch, &command.text), Vec::<String>::new(), "{}", command.text);
            ran += 1;
        }
    }
    assert!(ran > 60, "{ran}");
    // A line of fstab for the file system of each Linux volume and for each share: no name adds another.
    let fstab = std::fs::read_to_string(scratch.0.join("etc/fstab")).unwrap();
    assert_eq!(fstab.lines().count(), 3, "{fstab}");
    let name = std::fs::read_to_string(scratch.0.join("etc/iscsi/initiatorname.iscsi")).unwrap();
    assert!(name.lines().count() == 1 && name.starts_with("InitiatorName=x'; "), "{name}");
    // The names are what they seem: without quotes they run.
    assert_eq!(files_made(&scratch, &format!("echo '{EVIL}")), ["here"]);
}

/// PowerShell ends a string in single quotes at each kind of single quote that does not stand twice.
#[test]
fn powershell_runs_nothing_of_a_name() {
    let plan = of_volume(System::Windows, &hostile());
    let mut strings = 0;
    for command in commands(&plan).filter(|command| command.shell == Shell::Powershell) {
        let is_quote = |c: char| matches!(c, '\'' | '\u{2018}'..='\u{201b}');
        let mut rest = command.text.chars().peekable();
        let (mut outside, mut inside) = (String::new(), false);
        while let Some(c) = rest.next() {
            match (inside, is_quote(c)) {
                (true, true) if rest.peek().is_some_and(|next| is_quote(*next)) => drop(rest.next()),
                (_, true) => {
                    inside = !inside;
                    strings += usize::from(inside);
                }
                (false, false) => outside.push(c),
                (true, false) => {}
            }
        }
        assert!(!inside && !outside.contains(">here") && !outside.contains('`'), "{}", command.text);
    }
    assert!(strings > 15, "{strings}");
}

/// The files of a plan have the names as text, and nothing else of them.
#[test]
fn a_file_has_a_name_as_text() {
    let plan = of_volume(System::Libvirt, &hostile());
    let disk = commands(&plan).find(|command| command.text.starts_with("<disk")).unwrap();
    let read = roxmltree::Document::parse(&disk.text).unwrap();
    let value = |element: &str, attribute: &str| {
        let node = read.descendants().find(|node| node.has_tag_name(element)).unwrap();
        node.attribute(attribute).unwrap().to_owned()
    };
    assert_eq!(read.root_element().children().filter(|node| node.is_element()).count(), 4);
    // A line break in an attribute is read as a space.
    let in_attribute = EVIL.replace('\n', " ");
    assert_eq!(value("iqn", "name"), in_attribute);
    assert_eq!(value("auth", "username"), in_attribute);
    assert_eq!(value("source", "name"), format!("{in_attribute}/4"));

    let plan = of_volume(System::Kubernetes, &hostile());
    let yaml = |kind: &str| {
        let files = commands(&plan).filter(|command| command.shell == Shell::Yaml);
        let documents = files.flat_map(|command| command.text.split("\n---\n"));
        let mut read = documents.map(|document| serde_saphyr::from_str::<serde_json::Value>(document).unwrap());
        read.find(|document| document["kind"] == kind).unwrap()
    };
    let iscsi = &yaml("PersistentVolume")["spec"]["iscsi"];
    assert_eq!(
        (&iscsi["iqn"], &iscsi["targetPortal"], &iscsi["portals"][0]),
        (&EVIL.into(), &EVIL.into(), &EVIL.into())
    );
    assert_eq!((&iscsi["initiatorName"], iscsi.as_object().unwrap().len()), (&EVIL.into(), 9));
    for session in ["discovery.sendtargets", "node.session"] {
        assert_eq!(yaml("Secret")["stringData"][format!("{session}.auth.username")], EVIL);
    }
    let claim = yaml("PersistentVolumeClaim");
    let name = claim["spec"]["volumeName"].as_str().unwrap();
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
}

/// The README shows the same commands for ESXi, and the same section of dm-multipath.
#[test]
fn the_readme_says_the_same() {
    let readme = include_str!("../../../../README.md");
    let facts = Facts { adapter: Some("vmhba64".to_owned()), chap: None, ..facts() };
    let words = |text: &str| text.split_whitespace().map(|word| word.replace(['"', '\''], "")).collect::<Vec<_>>();
    let plan = of_volume(System::Esxi, &facts);
    let planned: Vec<_> =
        plan.steps.iter().flat_map(|step| &step.commands).map(|command| words(&command.text)).collect();
    let lines = readme.lines().filter(|line| line.starts_with("esxcli"));
    let shown: Vec<_> =
        lines.flat_map(|line| line.split(" #").next().unwrap_or_default().split(';')).map(words).collect();
    assert!(shown.len() > 6, "{shown:?}");
    for command in shown {
        assert!(planned.iter().any(|planned| planned.starts_with(&command)), "{command:?} is in no plan");
    }
    let section: Vec<_> =
        readme.lines().skip_while(|line| *line != "devices {").take_while(|line| *line != "```").collect();
    let packaged = include_str!("../../../../packaging/multipath.conf");
    let settings: Vec<_> = packaged.lines().map(|line| words(line.split('#').next().unwrap_or_default())).collect();
    assert!(section.len() > 10 && section.iter().all(|line| settings.contains(&words(line))), "{section:?}");
}
