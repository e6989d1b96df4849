//! Guard that turns a panic of the engine into a failure of the run, with its message and place,
//! and prints nothing.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `f`; a panic becomes an error.
pub(crate) fn catch<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if GUARDED.get() {
                MESSAGE.set(info.to_string().replace('\n', " "));
            } else {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.unwrap_or_else(|_| Err(MESSAGE.take()))
}
