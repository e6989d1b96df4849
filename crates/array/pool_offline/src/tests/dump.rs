//! Dumps of every structure, from intact and damaged pools.

use super::fixture::Fixture;
use super::golden::{IMAGES, unpack};
use crate::{
    CheckError, DumpArguments, DumpWhat, EXIT_CLEAN, EXIT_FAILED, EXIT_NOT_FOUND, OutputFormat, dump, run_dump,
};

fn text(pool: &Fixture, what: DumpWhat) -> String {
    let arguments = DumpArguments { file: pool.path.clone(), what };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let status = run_dump(&arguments, OutputFormat::Text, &mut output, &mut errors);
    assert_eq!((status, errors.as_slice()), (EXIT_CLEAN, [].as_slice()), "{}", String::from_utf8_lossy(&errors));
    pool.assert_unchanged();
    String::from_utf8(output).unwrap()
}

#[test]
fn structures_are_shown_as_text() {
    let pool = Fixture::killed();
    let superblock = text(&pool, DumpWhat::Superblock);
    assert!(superblock.contains("07070707-0707-0707-0707-070707070707"), "{superblock}");
    assert_eq!(superblock.matches("state intact, version 1").count(), 4, "{superblock}");
    assert!(text(&pool, DumpWhat::Root).contains("next_object"));
    let log = text(&pool, DumpWhat::Log { limit: 1000 });
    for kind in ["kind write", "kind zero", "kind clone", "CreateVolume", "PutDocument { key: \"volume/01997c2e"] {
        assert!(log.contains(kind), "{kind}: {log}");
    }
    assert!(text(&pool, DumpWhat::Log { limit: 1 }).contains("more                 yes"));

    let pool = Fixture::checkpointed();
    let objects = text(&pool, DumpWhat::Objects);
    assert!(objects.contains("id 16, kind volume") || objects.contains("kind volume"), "{objects}");
    assert!(objects.contains("volume/01997c2e"), "{objects}");
    let object = text(&pool, DumpWhat::Object { id: 16, limit: 1000 });
    assert!(object.contains("first_block 131072") && object.contains("blocks 64"), "{object}");
    let value = dump(&pool.path, DumpWhat::Object { id: 16, limit: 1000 }).unwrap().0;
    let address = value["root_address"].as_u64().unwrap();
    let page = dump(&pool.path, DumpWhat::Page { address }).unwrap().0;
    assert_eq!((&page["intact"], &page["made_for_object"]), (&true.into(), &16.into()));
    let block = text(&pool, DumpWhat::Block { address });
    assert!(block.contains("reference_count") && block.contains("looks like a map page"), "{block}");
    assert!(text(&pool, DumpWhat::Block { address: 2048 }).contains("index of zone 0, slot 0"));
}

#[test]
fn the_index_of_the_documents_is_shown() {
    let pool = Fixture::indexed();
    let root = dump(&pool.path, DumpWhat::Root).unwrap().0;
    let index = &root["documents_index"];
    assert_eq!((&index["level"], &index["entries"]), (&1.into(), &202.into()));
    let stream = dump(&pool.path, DumpWhat::Object { id: 2, limit: 1000 }).unwrap().0;
    let runs = stream["runs"].as_array().unwrap().iter();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let places = runs.flat_map(|run| {
        let (block, address) = (number(&run["first_block"]), number(&run["address"]));
        (0..number(&run["blocks"])).map(move |n| (block + n, address + n))
    });
    let (mut keys, mut parts) = (Vec::new(), 0);
    for (block, address) in places {
        assert!(text(&pool, DumpWhat::Block { address }).contains("looks like a page of the index"));
        let page = dump(&pool.path, DumpWhat::Page { address }).unwrap().0;
        assert_eq!(page["page"], block);
        if page["level"] == 0 {
            keys.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["key"].to_string()));
        }
        parts += u64::from(page["position_in_value"].is_u64());
        assert!(!page.to_string().contains("ddd"), "documents may hold secrets");
    }
    keys.sort();
    keys.dedup();
    assert_eq!((keys.len(), parts), (202, 3));
    let before = dump(Fixture::empty().path.as_path(), DumpWhat::Root).unwrap().0;
    assert_eq!(before["documents_index"], "none: the documents are a list");
}

#[test]
fn what_is_not_there_is_an_error() {
    let pool = Fixture::checkpointed();
    for (what, words, code, status) in [
        (DumpWhat::Object { id: 99, limit: 1 }, "there is no object 99", "not-found", EXIT_NOT_FOUND),
        (DumpWhat::Page { address: 2049 }, "block 2049 is not a map page", "no-page", EXIT_FAILED),
        (DumpWhat::Page { address: u64::MAX }, "there is no block 18446744073709551615", "not-found", EXIT_NOT_FOUND),
        (DumpWhat::Block { address: 5 }, "there is no block 5 in the data area", "not-found", EXIT_NOT_FOUND),
        (DumpWhat::Block { address: u64::MAX }, "there is no block 18446744073709551615", "not-found", EXIT_NOT_FOUND),
    ] {
        let error = dump(&pool.path, what).unwrap_err();
        assert!(error.to_string().contains(words) && !error.to_string().contains("check could not"), "{error}");
        assert!(error.help().contains("windlass pool dump FILE"), "{}", error.help());
        assert_eq!((error.code(), error.exit_status()), (code, status));
    }
    let foreign = Fixture::of(&[0x55; 1 << 20]);
    assert!(text(&foreign, DumpWhat::Superblock).contains("other data"));
    assert!(matches!(dump(&foreign.path, DumpWhat::Root), Err(CheckError::NoPool { .. })));
}

#[test]
fn golden_images_can_be_dumped() {
    for image in IMAGES {
        let pool = unpack(image);
        let objects = dump(pool.path(), DumpWhat::Objects).unwrap().0;
        assert!(objects["objects"].as_array().unwrap().len() >= 6, "{objects}");
        assert_eq!(objects["drops"].as_array().unwrap().len(), 1);
        let log = dump(pool.path(), DumpWhat::Log { limit: 100 }).unwrap().0;
        assert_eq!(log["frames"].as_array().unwrap().is_empty(), image.ends_with("clean"));
        for id in [1, 2, 3, 16, 17, 18, 19] {
            dump(pool.path(), DumpWhat::Object { id, limit: 10 }).unwrap();
        }
    }
}
