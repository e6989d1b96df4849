//! Exit statuses of the program.

use crate::Entry;
use crate::Step::{Do, Run};
use crate::explained as of;

pub(crate) const ENTRIES: &[Entry] = &[
    of("0", "Done.", &[], &[]),
    of(
        "1",
        "Failed, for a reason that has no status of its own.",
        &[],
        &[Do("The error says what failed; its code explains more:"), Run("windlass explain CODE")],
    ),
    of(
        "130",
        "Interrupted while waiting: the job goes on.",
        &["Ctrl-C."],
        &[Run("windlass job wait JOB"), Do("Or end it:"), Run("windlass job cancel JOB")],
    ),
    of(
        "2",
        "Usage: the command line, or a value in it, is wrong. Nothing was changed.",
        &[],
        &[Do("See the options of the command with --help.")],
    ),
    of(
        "3",
        "Not found: something that the command names does not exist. Nothing was changed.",
        &[],
        &[Do("List the objects of that kind, as by:"), Run("windlass volume list")],
    ),
    of(
        "4",
        "Conflict: the object exists already, is in use, or has changed meanwhile. Nothing was changed.",
        &[],
        &[Do("The error names what is in the way.")],
    ),
    of(
        "5",
        "Denied: the array or the operating system does not allow it. Nothing was changed.",
        &[
            "Not root and no token.",
            "The role of the token or user does not suffice.",
            "Wrong CHAP name or secret.",
            "Too many wrong tokens, sign-ins or streams.",
        ],
        &[
            Do("Run it as root, or name a token with the role that the error says:"),
            Run("windlass --token-file FILE status"),
        ],
    ),
    of("6", "No space. Nothing was changed.", &[], &[Run("windlass pool show POOL")]),
    of(
        "7",
        "Unavailable: the array, or a server that the command names, does not answer, or cannot carry out requests now.",
        &[
            "The array is not running, or starting.",
            "A wrong address, or a firewall between.",
            "The audit cannot be written.",
        ],
        &[Run("systemctl status windlass"), Run("windlass status")],
    ),
    of(
        "8",
        "Timed out: no answer in time. The request may still take effect.",
        &["The array is overloaded, or its medium does not answer."],
        &[Do("See whether it took effect before it is repeated:"), Run("windlass event list")],
    ),
    of("9", "A check found problems.", &[], &[Do("The output of the command lists them.")]),
];
