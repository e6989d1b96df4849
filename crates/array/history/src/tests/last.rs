//! The newest observation of an entity.

use super::second;
use crate::{Class, Store, Tier};

const START: i64 = 1_800_000_000;

#[test]
fn the_newest_observation_of_a_unit_is_found_before_and_after_it_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.redb");
    let mut store = Store::open(&path, 64 << 20, START).unwrap();
    assert_eq!(store.last("volume.1").unwrap(), None);
    for at in 0..3000 {
        let entity = if at < 2000 { "volume.1" } else { "volume.2" };
        store.observe(&second(START + at, entity, Class::Unit, 1.0));
    }
    // The finest steps of units.
    let finest = i64::try_from(Tier::Minutes.step_seconds()).unwrap();
    let step = |at: i64| at.div_euclid(finest) * finest;
    let check = |store: &Store| {
        assert_eq!(store.last("volume.1").unwrap(), Some(step(START + 1999)));
        assert_eq!(store.last("volume.2").unwrap(), Some(step(START + 2999)));
        assert_eq!(store.last("volume.3").unwrap(), None);
    };
    check(&store);
    store.flush(true, |_| true).unwrap();
    check(&store);
    drop(store);
    check(&Store::open(&path, 64 << 20, START + 4000).unwrap());
}
