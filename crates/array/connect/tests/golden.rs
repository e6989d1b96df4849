//! The whole text of each plan, as files that people compare with the documentation of the vendors, and hostile names,
//! which real shells read. `WINDLASS_UPDATE_PLANS=1` writes the files.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use connect::{Chap, Command, Facts, Plan, Server, ShareFacts, Shell, System, of_share, of_volume};
use std::fmt::Write as _;
use std::path::Path;

fn facts() -> Facts {
    Facts {
        host: "esx01".to_owned(),
        initiators: vec!["iqn.1998-01.com.vmware:esx01".to_owned()],
        chap: Some(Chap { user: "esx01".to_owned(), mutual_user: None }),
        volume: "win-dc1".to_owned(),
        naa: "6001405a3f1c2b4d8e9f001122334455".to_owned(),
        size_bytes: 100 << 30,
        lun: Some(4),
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
        writeln!(text, "\n## {}: {} ({}{optional})\n{}\n", step.id, step.title, step.place, step.why).unwrap();
        step.commands.iter().for_each(|command| write_command(&mut text, command));
    }
    writeln!(text, "\n## undo\n").unwrap();
    plan.undo().for_each(|command| write_command(&mut text, command));
    text
}

fn write_command(text: &mut String, command: &Command) {
    match command.file {
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

#[test]
fn a_share_has_a_plan() {
    let server = Server::parse("192.0.2.7:12049").unwrap();
    let facts = ShareFacts {
        share: "vms".to_owned(),
        path: "/vms".to_owned(),
        v4: true,
        host: "pve1".to_owned(),
        access: " (read-write, squash none, by the rule for pve1)".to_owned(),
        directory: "/mnt/vms".to_owned(),
        ..ShareFacts::default()
    };
    compare("linux-share.txt", &of_share(&facts, &server));
    assert!(Server::parse("192.0.2.7:nfs").is_err() && Server::parse("192.0.2.7:99999").is_err());
    assert_eq!(Server::parse("fd00::7").unwrap().source("/a"), "[fd00::7]:/a");
    let v3 = "vers=3,hard,proto=tcp,nolock,mountport=2049,ro";
    assert_eq!(Server::parse("[fd00::7]").unwrap().options(false, true), v3);
}

/// Runs a script without any program: only what the shell itself does, such as a redirection, has an effect. Returns
/// the files that it made.
fn files_made(directory: &Path, script: &str) -> Vec<String> {
    // Redirections of the plans themselves go nowhere.
    let script = script
        .replace(">>/etc/", ">/dev/null #")
        .replace(">/etc/", ">/dev/null #")
        .replace(">windlass.secret", ">/dev/null");
    let shell =
        std::process::Command::new("/bin/sh").args(["-c", &script]).env("PATH", "").current_dir(directory).output();
    shell.unwrap();
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Names that the array would refuse, in case they reach a plan: a shell reads each as one word.
#[test]
fn a_shell_runs_nothing_of_a_name() {
    let directory = std::env::temp_dir().join(format!("windlass-connect-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let evil = "x'; : >here; echo $(: >here) `: >here` \"\" #\n: >here";
    let hostile = Facts {
        host: evil.to_owned(),
        initiators: vec![evil.to_owned()],
        chap: Some(Chap { user: evil.to_owned(), mutual_user: Some(evil.to_owned()) }),
        volume: evil.to_owned(),
        target: evil.to_owned(),
        portals: vec![evil.to_owned()],
        adapter: Some(evil.to_owned()),
        ..facts()
    };
    let mut ran = 0;
    for system in System::ALL {
        let plan = of_volume(system, &hostile);
        let commands = plan.steps.iter().flat_map(|step| step.commands.iter().chain(&step.undo));
        for command in commands.filter(|command| matches!(command.shell, Shell::Sh | Shell::Esxi)) {
            assert_eq!(files_made(&directory, &command.text), Vec::<String>::new(), "{}", command.text);
            ran += 1;
        }
    }
    assert!(ran > 50, "{ran}");
    // The names are what they seem: without quotes they run.
    assert_eq!(files_made(&directory, &format!("echo '{evil}")), ["here"]);
    std::fs::remove_dir_all(&directory).unwrap();
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
