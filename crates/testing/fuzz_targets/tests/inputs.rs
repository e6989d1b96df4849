//! All seeds, and all inputs that once caused a crash.

use fuzz_targets::TARGETS;
use std::path::Path;

#[test]
fn every_seed_is_survived() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        (target.run)(&[]);
        for seed in seeds {
            assert!(seed.len() <= target.max_bytes, "{}: a seed of {} bytes", target.name, seed.len());
            (target.run)(&seed);
        }
    }
}

#[test]
fn seeds_are_the_same_every_time() {
    for target in TARGETS {
        assert_eq!((target.seeds)(), (target.seeds)(), "{}", target.name);
    }
}

/// The file's name describes the crash.
#[test]
fn former_crashes_do_not_recur() -> std::io::Result<()> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/regressions");
    for directory in std::fs::read_dir(all)? {
        let directory = directory?.path();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = fuzz_targets::target(&name).unwrap_or_else(|| panic!("there is no target {name}"));
        for input in std::fs::read_dir(directory)? {
            let path = input?.path();
            println!("{}", path.display());
            (target.run)(&std::fs::read(path)?);
        }
    }
    Ok(())
}

#[test]
fn there_is_a_program_for_every_target() -> std::io::Result<()> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest)?;
    for target in TARGETS {
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{} is not in fuzz/Cargo.toml", target.name);
    }
    assert!(TARGETS.is_sorted_by_key(|target| target.name));
    Ok(())
}
