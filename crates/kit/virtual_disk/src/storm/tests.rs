use super::journal::{Entry, Journal, Operation};
use super::model::{Model, offset, sector};
use random::Random;

#[test]
fn a_journal_gives_the_expected_disks() {
    let mut model = Model::default();
    let random = Random::new(5);
    for _ in 0..2000 {
        let operation = model.choose("h", &random);
        model.enter(&Entry::Begin(operation));
        model.enter(match random.below(4) {
            0 => &Entry::Undone,
            1 => &Entry::Unknown,
            _ => &Entry::Done,
        });
        assert!(model.disks.len() <= 8);
        for disk in model.disks.values() {
            let base = disk.base.as_ref().filter(|base| *base != super::TEMPLATE);
            assert!(base.is_none_or(|base| model.disks.contains_key(base)), "{model:?}");
            assert!(offset(disk.slots() - 1) + 512 <= disk.size);
        }
    }
    for kind in [
        "touch",
        "lock and add",
        "move",
        "create",
        "grow",
        "write",
        "delete",
        "rename",
        "snapshot",
        "linked clone",
        "commit",
    ] {
        assert!(model.operations.get(kind).is_some_and(|count| *count > 20), "{kind}: {:?}", model.operations);
    }
    assert_ne!(sector(1, 257), sector(2, 257));
    assert!(sector(3, 0).iter().all(|byte| *byte == 0));
}

#[test]
fn an_unfinished_line_of_a_killed_host_is_ignored() {
    let path = std::env::temp_dir().join(format!("windlass-storm-journal-{}", std::process::id()));
    let begin = Entry::Begin(Operation::Touch { file: "counter-1".into() });
    let (mut journal, before) = Journal::open(&path).unwrap();
    assert!(before.is_empty());
    for entry in [&Entry::Life, &begin, &Entry::Done] {
        journal.write(entry).unwrap();
    }
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"begin\":{\"tou");
    std::fs::write(&path, text).unwrap();
    let (mut journal, found) = Journal::open(&path).unwrap();
    assert_eq!(found, [Entry::Life, begin, Entry::Done]);
    journal.write(&Entry::Life).unwrap();
    assert_eq!(Journal::read(&path).unwrap().len(), 4);
    std::fs::remove_file(path).unwrap();
}
