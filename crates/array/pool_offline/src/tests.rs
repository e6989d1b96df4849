#![expect(clippy::unwrap_used, reason = "tests")]

mod bad_input;
mod damage;
mod dump;
mod fixture;
mod golden;
mod identity;
mod refusals;
mod repair;
mod served;

use media::{EngineChoice, FileDisk, LocalMedia, OpenOptions, Overlay};
use pool::{Core, Options};

use crate::{CheckArguments, CheckStage, EXIT_CLEAN, OutputFormat, check, run_check};
use fixture::{DATA_BLOCKS, Fixture, Ran};

#[test]
fn a_pool_after_a_checkpoint_is_clean_and_replays_nothing() {
    let pool = Fixture::checkpointed();
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.errors.as_str()), (EXIT_CLEAN, ""), "{}", ran.output);
    assert!(ran.output.contains(": clean\n"), "{}", ran.output);
    assert!(ran.output.contains("2 volumes, 1 snapshot, 1 document"), "{}", ran.output);
    assert!(ran.output.contains("0 records (0 B) replayed"), "{}", ran.output);
}

#[test]
fn a_pool_whose_daemon_was_killed_is_clean_after_replay_in_memory() {
    let pool = Fixture::killed();
    let outcome = check(&pool.path, Default::default(), &mut |_| {}).unwrap();
    assert_eq!((outcome.clean, outcome.findings.as_slice()), (true, [].as_slice()));
    assert!(outcome.replayed_records > 0);
    assert_eq!((outcome.volumes, outcome.snapshots, outcome.documents), (2, 1, 1));
    assert_eq!(outcome.data_blocks, DATA_BLOCKS);
    pool.assert_unchanged();
    // A second check finds the same: the first one left no trace.
    assert_eq!(check(&pool.path, Default::default(), &mut |_| {}).unwrap(), outcome);
}

/// The engine works on an overlay of a read-only file, and reopens the state that it left there.
#[test]
fn the_engine_recovers_works_and_reopens_on_an_overlay() {
    on_an_overlay(Options::default().memory_bytes, false);
}

/// Memory so small that recovery takes checkpoints.
#[test]
fn the_engine_recovers_with_checkpoints_on_an_overlay() {
    on_an_overlay(256 << 10, true);
}

fn on_an_overlay(memory_bytes: usize, takes_checkpoints: bool) {
    let pool = Fixture::killed();
    let open = OpenOptions { read_only: true, engine: EngineChoice::Inline, ..OpenOptions::default() };
    let mut media = Overlay::new(LocalMedia::open(FileDisk::open(&pool.path, &open).unwrap()).unwrap());
    let mut content = Vec::new();
    for incarnation in 2..5 {
        let options = Options { memory_bytes, incarnation, ..Options::default() };
        let (mut engine, opened) = Core::open(media, options, &mut |_| {}).unwrap();
        if incarnation == 2 {
            assert!(opened.records > 0);
            assert_eq!(engine.counters().checkpoints > 0, takes_checkpoints);
        }
        let report = engine.check(true, &mut |_| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let volume = *engine.object_ids().first().unwrap();
        if !content.is_empty() {
            assert!(fixture::read(&mut engine, volume, 30 << 20, content.len()) == content);
        }
        content.extend([u8::try_from(incarnation).unwrap(); 40_960]);
        fixture::write(&mut engine, volume, 30 << 20, content.clone());
        if incarnation == 2 {
            engine.checkpoint().unwrap();
        }
        assert!(engine.check(true, &mut |_| {}).unwrap().is_clean());
        media = engine.into_media();
    }
    assert!(media.held_bytes() > 0);
    drop(media);
    pool.assert_unchanged();
}

#[test]
fn a_copy_taken_while_the_pool_is_open_is_clean() {
    let pool = Fixture::copied_while_open();
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.errors.as_str()), (EXIT_CLEAN, ""), "{}", ran.output);
}

#[test]
fn an_empty_pool_is_clean() {
    let pool = Fixture::empty();
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.errors.as_str()), (EXIT_CLEAN, ""), "{}", ran.output);
    assert!(ran.output.contains("0 volumes, 0 snapshots, 0 documents"), "{}", ran.output);
}

#[test]
fn json_has_the_fields_of_the_outcome() {
    let pool = Fixture::killed();
    let Ran { status, output, .. } = pool.run_as(false, OutputFormat::Json, false);
    let json: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(status, EXIT_CLEAN);
    assert_eq!(json["clean"], true);
    assert_eq!(json["file"], pool.path.display().to_string());
    assert_eq!(json["uuid"], "07070707-0707-0707-0707-070707070707");
    assert_eq!(json["data_blocks"], DATA_BLOCKS);
    assert_eq!(json["data_verified"], true);
    assert_eq!(json["findings"], serde_json::json!([]));
    let sum = json["used_bytes"].as_u64().unwrap() + json["free_bytes"].as_u64().unwrap();
    assert_eq!(json["size_bytes"].as_u64().unwrap(), sum);
}

#[test]
fn progress_is_drawn_on_a_terminal_only_and_cleared_at_the_end() {
    let pool = Fixture::killed();
    assert_eq!(pool.run_as(false, OutputFormat::Text, false).errors, "");
    let errors = pool.run_as(false, OutputFormat::Text, true).errors;
    assert!(errors.contains("replaying the log: "), "{errors:?}");
    assert!(errors.ends_with("\r\x1b[K"), "{errors:?}");
}

#[test]
fn progress_tells_replay_first_and_verification_up_to_its_end() {
    let pool = Fixture::killed();
    let mut stages = Vec::new();
    check(&pool.path, Default::default(), &mut |stage| stages.push(stage)).unwrap();
    assert!(matches!(stages.first(), Some(CheckStage::Replaying { log_bytes: 1.. })));
    match stages.last() {
        Some(CheckStage::Verifying { verified_blocks, total_blocks }) => assert_eq!(verified_blocks, total_blocks),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_unless_the_reader_left() {
    struct Failing(std::io::ErrorKind);
    impl std::io::Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let pool = Fixture::empty();
    let arguments = CheckArguments { file: pool.path.clone(), quick: true, memory: None };
    for format in [OutputFormat::Text, OutputFormat::Json, OutputFormat::Yaml] {
        let run = |kind| run_check(&arguments, format, &mut Failing(kind), &mut std::io::sink(), false);
        assert_eq!(run(std::io::ErrorKind::BrokenPipe), EXIT_CLEAN);
        assert_eq!(run(std::io::ErrorKind::StorageFull), crate::EXIT_FAILED);
    }
}
