//! Pools: promised space, limits, thresholds, and damage.

use super::Array;
use pool::{BlockId, ObjectId, Place};

#[test]
fn space_is_kept_free_limited_and_watched() {
    let array = Array::start();
    array.ok(&["volume", "create", "db", "--size", "4G", "--reserve", "thick", "--overwrite-reserve", "20%"]);
    let columns = ["--columns", "name,reserve,promised,zeros,warn"];
    assert_eq!(
        array.ok(&[&["volume", "list"][..], &columns].concat()),
        "NAME  RESERVE                       PROMISED  ZEROS     WARN\n\
         db    thick, 20% of what is shared     4 GiB  detected  –\n"
    );
    let set = array.run(&["volume", "set", "db", "--reserve", "thin", "--zero-detection", "off", "--warn", "75%"]);
    assert_eq!((set.status, set.err.as_str()), (0, "db is thin; zeros are stored\n"), "{set:?}");
    let refused = array.run(&["volume", "set", "db", "--overwrite-reserve", "50"]);
    assert_eq!(
        (refused.status, refused.err.as_str()),
        (
            4,
            "error: volume db is thin: only a thick volume has an overwrite reserve (code: not-thick)\n\
             help: make the volume thick:  windlass volume set db --reserve thick --overwrite-reserve 50\n"
        )
    );
    let limited = array.run(&["pool", "set", "p0", "--commitment", "100%", "--warn", "70", "--critical", "85%"]);
    assert_eq!(
        (limited.status, limited.err.as_str()),
        (0, "warns at 70%, critical at 85%, limit of over-commitment 100%\n")
    );
    let refused = array.run(&["volume", "create", "v2", "--size", "61G"]);
    assert_eq!(refused.status, 6);
    assert_eq!(
        refused.err,
        "error: the volumes would have 65 GiB together, and the limit is 64 GiB (100 % of the pool) \
         (code: over-commitment)\nhelp: grow the pool, or raise the limit:  windlass pool set p0 --commitment 102%\n"
    );
    array.ok(&["pool", "grow", "p0", "--size", "70G"]);
    array.ok(&["volume", "create", "v2", "--size", "61G"]);
    let refused = array.run(&["pool", "grow", "p0", "--size", "1G"]);
    assert_eq!(refused.status, 4);
    assert!(
        refused
            .err
            .starts_with("error: the pool cannot grow: the pool has 75161927680 bytes already (code: cannot-grow)")
    );
    array.ok(&["pool", "set", "p0", "--commitment", "off"]);
    let pool = array.ok(&["pool", "show"]);
    for line in ["LIMIT        off", "WARN         70%", "CRITICAL     85%", "SHARED       0 B", "SCRUB        –"] {
        assert!(pool.contains(line), "{pool}");
    }
    let json = array.ok(&["pool", "show", "-o", "json"]);
    for part in ["\"promised_bytes\": 0", "\"warn_percent\": 70", "\"shared_bytes\": 0", "\"commitment_percent\": 92"] {
        assert!(json.contains(part), "{json}");
    }
    let events = array.ok(&["event", "list", "--since", "1h", "--columns", "code,message"]);
    for line in ["pool-grown      pool p0 grown to 70 GiB", "volume-created  volume db created"] {
        assert!(events.contains(line), "{events}");
    }
    assert_eq!(array.ok(&["event", "list", "--limit", "1", "-o", "name"]).lines().count(), 1);
    // The array refuses these limits.
    assert_eq!(array.ok(&["event", "list", "--limit", "0", "-o", "name"]), "");
    let all = array.ok(&["event", "list", "-o", "name"]);
    assert_eq!(array.ok(&["event", "list", "--limit", "20000", "-o", "name"]), all);
    let codes = |words: &[&str]| {
        let list = ["event", "list", "--columns", "code", "--no-headers"];
        let text = array.ok(&[&list[..], words].concat());
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&["--subject", "db"]), ["volume-created", "volume-changed"]);
    assert_eq!(codes(&["--since", "1h", "--subject", "db", "--code", "volume-changed"]), ["volume-changed"]);
    assert_eq!(codes(&["--severity", "critical"]), [""; 0]);
    assert!(codes(&["--severity", "info"]).len() > 4);
    assert_eq!(array.run(&["event", "list", "--severity", "bad"]).status, 2);
    assert_eq!(array.ok(&["alert", "list", "--no-headers"]), "");
}

#[test]
fn what_a_scrub_finds_is_named() {
    let place = |block| Place { object: ObjectId(1), offset_bytes: 4096 * block, block: BlockId(block) };
    let array = Array::start_with(vec![place(1), place(2)]);
    array.ok(&["volume", "create", "bad-1", "--size", "64M"]);
    let scrub = array.run(&["pool", "scrub", "p0"]);
    assert_eq!(scrub.status, 9, "{scrub:?}");
    assert!(scrub.out.ends_with("2 bad blocks\n  bad  bad-1  LBA 8 to 23\n"), "{}", scrub.out);
    assert!(scrub.err.starts_with("error: content of the pool is lost (code: findings)\nhelp: "), "{}", scrub.err);
    let alerts = array.run(&["alert", "list"]);
    assert_eq!(
        alerts.out,
        "SEVERITY  ALERT       SUBJECT  MESSAGE                           ACKNOWLEDGED  TOLD\n\
         critical  bad-blocks  p0       2 blocks of 4 KiB cannot be read  –             –\n"
    );
    assert!(array.ok(&["status"]).contains("alert    critical · p0: 2 blocks of 4 KiB cannot be read\n"));
    assert!(array.ok(&["pool", "show"]).ends_with("  bad  bad-1  LBA 8 to 23\n"));
}

#[test]
fn a_volume_is_critical_above_where_it_warns_and_a_lossy_pool_is_damaged() {
    let place = Place { object: ObjectId(1), offset_bytes: 4096, block: BlockId(1) };
    let array = Array::start_with(vec![place]);
    array.ok(&["volume", "create", "v1", "--size", "64M"]);
    assert!(array.ok(&["pool", "list"]).contains("healthy"));
    let thresholds =
        |words: &[&str]| array.run(&[&["volume", "set", "v1", "--columns", "warn,critical"], words].concat());
    assert_eq!(thresholds(&["--warn", "75%", "--critical", "90%"]).out, "WARN  CRITICAL\n75%   90%\n");
    let refused = thresholds(&["--critical", "75%"]);
    assert!(refused.status != 0 && refused.err.contains("critical is above warn"), "{refused:?}");
    assert_eq!(thresholds(&["--warn", "none"]).out, "WARN  CRITICAL\n–     90%\n");
    assert!(array.ok(&["volume", "show", "v1", "-o", "json"]).contains("\"critical_percent\": 90"));
    assert_eq!(array.run(&["pool", "scrub", "p0"]).status, 9);
    assert!(array.ok(&["pool", "list"]).contains("damaged") && array.ok(&["status"]).contains("p0 damaged"));
    array.ok(&["snapshot", "create", "v1", "s"]);
    let deleted = |words: &[&str]| -> String { array.ok(words).split_whitespace().collect() };
    assert_eq!(deleted(&["snapshot", "delete", "v1@s", "-o", "json", "--yes"]), "{\"deleted\":[\"v1@s\"]}");
    assert_eq!(deleted(&["volume", "delete", "v1", "-o", "json", "--yes"]), "{\"deleted\":[\"v1\"]}");
}
