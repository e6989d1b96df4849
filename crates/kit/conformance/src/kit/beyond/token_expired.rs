use super::super::prelude::*;
use super::support::*;

check! {
    /// A token expires when it is not used for its inactivity timeout.
    222, "SBC-4 §5.10", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let list = token::populate_list(1, &[(lba, 8)]);
    let created = populate_with(bench, A, list)?;
    std::thread::sleep(Duration::from_millis(2500));
    let refused = [(0x05, 0x23, 0x04), (0x05, 0x23, 0x07)];
    write_token(bench, A, &created, 0, &[(lba + 2048, 8)])?.one_of(&refused)?.done()
}
