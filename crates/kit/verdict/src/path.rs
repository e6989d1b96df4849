//! Name and question of a check from the path and the doc comment of its code, at compile time.

/// Start of the name in the path of a check's module: group and file are its last two parts.
#[expect(clippy::indexing_slicing, reason = "at compile time, where a panic is an error of the compiler")]
const fn name_start(path: &[u8]) -> usize {
    let (mut at, mut parts) = (path.len(), 0);
    while at > 0 {
        at -= 1;
        if path[at] == b':' {
            parts += 1;
            if parts == 3 {
                return at + 1;
            }
        }
    }
    0
}

/// Length of the name in bytes: its one `::` becomes `/`.
pub const fn length(path: &str) -> usize {
    path.len() - name_start(path.as_bytes()) - 1
}

/// The name of a check, from the path of its module.
#[expect(clippy::indexing_slicing, reason = "at compile time, where a panic is an error of the compiler")]
pub const fn name<const N: usize>(path: &str) -> [u8; N] {
    let path = path.as_bytes();
    let mut name = [0; N];
    let (mut from, mut to) = (name_start(path), 0);
    while to < N {
        if path[from] == b':' {
            name[to] = b'/';
            from += 2;
        } else {
            name[to] = path[from];
            from += 1;
        }
        to += 1;
    }
    name
}

/// Text of a doc comment without the blank at its beginning.
pub const fn text(bytes: &[u8]) -> &str {
    let bytes = match bytes {
        [b' ', rest @ ..] => rest,
        all => all,
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("no UTF-8"),
    }
}
