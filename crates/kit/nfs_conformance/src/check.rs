//! Checks.

use crate::bench::Bench;
use crate::need::Need;
use verdict::Verdict;

/// A check: one question to a server, with the answer that the standard requires.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Unique number that never changes.
    pub number: u16,
    /// Name: group and subject, such as `session/replay`.
    pub name: &'static str,
    /// Section of the standard that requires the answer.
    pub section: &'static str,
    /// Question, as one sentence.
    pub asks: &'static str,
    /// Whether the standard leaves a choice here, so that another server than Windlass may differ.
    pub choice: bool,
    /// Requirements of the check.
    pub needs: &'static [Need],
    /// Function that asks and compares the answer.
    pub run: fn(&mut Bench<'_>) -> Verdict,
}

/// Defines a check: `asks` is its doc comment. Its name is the path of its file, or that of the file's
/// folder and a given word; its function is `run` of the file, or the given one.
macro_rules! check {
    (
        $(#[doc = $asks:literal])+ $number:literal, $section:literal $(; $mark:ident)? $(, needs: [$($need:ident),*])?
    ) => {
        pub(super) const CHECK: $crate::check::Check = {
            const PATH: &str = module_path!();
            const NAME: [u8; verdict::path::length(PATH)] = verdict::path::name(PATH);
            $crate::check::Check {
                number: $number,
                name: verdict::path::text(&NAME),
                section: $section,
                asks: verdict::path::text(concat!($($asks),+).as_bytes()),
                choice: $crate::check::choice(&[$(stringify!($mark))?]),
                needs: &[$($($crate::need::Need::$need),*)?],
                run,
            }
        };
    };
}
pub(crate) use check;

/// Defines the checks of a file that differ by one value: a constant for each, with its name.
macro_rules! checks {
    ($($constant:ident: $(#[doc = $asks:literal])+ $number:literal $name:literal, $section:literal $(; $mark:ident)?
        $(, needs: [$($need:ident),*])?, $run:expr;)+) => {$(
        pub(super) const $constant: $crate::check::Check = $crate::check::Check {
            number: $number,
            name: $name,
            section: $section,
            asks: verdict::path::text(concat!($($asks),+).as_bytes()),
            choice: $crate::check::choice(&[$(stringify!($mark))?]),
            needs: &[$($($crate::need::Need::$need),*)?],
            run: $run,
        };
    )+};
}
pub(crate) use checks;

/// Whether the marks of a check say that the standard leaves a choice.
pub(crate) const fn choice(marks: &[&str]) -> bool {
    match marks {
        [] => false,
        [mark] if matches!(mark.as_bytes(), b"choice") => true,
        _ => panic!("the only mark is `choice`"),
    }
}
