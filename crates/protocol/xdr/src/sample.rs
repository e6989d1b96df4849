//! Values made up from a seed, for round trips and for the seeds of fuzz targets.

pub use random::Random;

use crate::{Array, Failure, List, Opaque};

/// Longest made-up array, list or opaque data. Long enough for data that a writer shares.
const MOST_ELEMENTS: u64 = 5;
const MOST_BYTES: u64 = 40;
const LONG_BYTES: u64 = 5000;

/// Type of which values can be made up. Every value has an encoding that is decoded to the same.
pub trait Sample: Sized {
    /// A value; equal for equal states of the generator.
    fn sample(random: &Random) -> Self;
}

macro_rules! numbers {
    ($($type:ty;)*) => {$(
        impl Sample for $type {
            /// Extremes are more frequent than they would be by chance.
            fn sample(random: &Random) -> Self {
                match random.below(4) {
                    0 => <$type>::MIN,
                    1 => <$type>::MAX,
                    _ => random.next() as $type,
                }
            }
        }
    )*};
}

numbers! { u32; i32; u64; i64; }

impl Sample for bool {
    fn sample(random: &Random) -> Self {
        random.chance(50)
    }
}

impl Sample for () {
    fn sample(_: &Random) -> Self {}
}

impl<const N: usize> Sample for [u8; N] {
    fn sample(random: &Random) -> Self {
        let mut bytes = [0; N];
        random.fill(&mut bytes);
        bytes
    }
}

impl<const MAX: u32, const MIN: u32> Sample for Opaque<MAX, MIN> {
    fn sample(random: &Random) -> Self {
        let most = if random.chance(2) { LONG_BYTES } else { MOST_BYTES };
        let length = u64::from(MIN) + random.below(1 + most.min(u64::from(MAX - MIN)));
        let mut data = vec![0; length as usize];
        random.fill(&mut data);
        data.into()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(random: &Random) -> Self {
        random.chance(50).then(|| T::sample(random))
    }
}

impl<T: Sample> Sample for Box<T> {
    fn sample(random: &Random) -> Self {
        Box::new(T::sample(random))
    }
}

impl<T: Sample, E: Failure + Sample> Sample for Result<T, E> {
    fn sample(random: &Random) -> Self {
        if random.chance(70) { Ok(T::sample(random)) } else { Err(E::sample(random)) }
    }
}

fn elements<T: Sample>(random: &Random, most: u32) -> Vec<T> {
    (0..random.below(1 + MOST_ELEMENTS.min(u64::from(most)))).map(|_| T::sample(random)).collect()
}

impl<T: Sample, const MAX: u32> Sample for Array<T, MAX> {
    fn sample(random: &Random) -> Self {
        Self(elements(random, MAX))
    }
}

impl<T: Sample, const MAX: u32> Sample for List<T, MAX> {
    fn sample(random: &Random) -> Self {
        Self(elements(random, MAX))
    }
}
