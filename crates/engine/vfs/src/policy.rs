//! Rules of permissions and times, as pure functions of attributes and call. Every file system uses
//! them, so that a caller finds the same rules everywhere: mode bits as in POSIX.1-2024, and where that
//! leaves a choice, as Linux does. There are no access control lists.

use crate::{Attributes, Call, Caller, FsError, Kind, Permission, Right, SetAttributes, SetTime, Timestamp};

/// Mode bits that attributes can have.
pub const MODE_BITS: u16 = 0o7777;
/// Set-user-id bit.
pub const SET_USER_ID: u16 = 0o4000;
/// Set-group-id bit.
pub const SET_GROUP_ID: u16 = 0o2000;
/// Sticky bit.
pub const STICKY: u16 = 0o1000;

/// Permissions of one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// May read content, or list the directory.
    pub read: bool,
    /// May change content, or the entries of the directory.
    pub write: bool,
    /// May execute, or look names up in the directory.
    pub execute: bool,
}

impl Permissions {
    /// Permissions that the mode bits give: those of the owner, else those of the group, else those
    /// of others. User 0 has all, but for the execution of a file that has no such bit at all.
    pub fn of(file: &Attributes, caller: &Caller) -> Self {
        if caller.is_root() {
            let execute = file.kind == Kind::Directory || file.mode & 0o111 != 0;
            return Self { read: true, write: true, execute };
        }
        let shift = if caller.user() == file.user {
            6
        } else if caller.is_in(file.group) {
            3
        } else {
            0
        };
        let bits = file.mode >> shift;
        Self { read: bits & 4 != 0, write: bits & 2 != 0, execute: bits & 1 != 0 }
    }

    /// [`FsError::Denied`] without the permission.
    pub const fn check(self, needs: Permission) -> Result<(), FsError> {
        let has = match needs {
            Permission::Read => self.read,
            Permission::Write => self.write,
            Permission::Execute => self.execute,
        };
        if has { Ok(()) } else { Err(FsError::Denied { needs }) }
    }
}

/// Whether a caller may list a directory or read an attribute's value, or change one.
pub fn check(file: &Attributes, caller: &Caller, needs: Permission) -> Result<(), FsError> {
    Permissions::of(file, caller).check(needs)
}

/// Whether a caller may change the entries of a directory: that needs write and execute permission.
pub fn check_entries(directory: &Attributes, caller: &Caller) -> Result<(), FsError> {
    let permissions = Permissions::of(directory, caller);
    permissions.check(Permission::Execute)?;
    permissions.check(Permission::Write)
}

/// Whether a call may read content. Execute permission is enough, because programs are read by who
/// executes them.
pub fn check_read(file: &Attributes, call: Call<'_>) -> Result<(), FsError> {
    if call.right == Right::Opened || call.caller.user() == file.user {
        return Ok(());
    }
    let permissions = Permissions::of(file, call.caller);
    if permissions.execute { Ok(()) } else { permissions.check(Permission::Read) }
}

/// Whether a call may change content.
pub fn check_write(file: &Attributes, call: Call<'_>) -> Result<(), FsError> {
    if call.right == Right::Opened || call.caller.user() == file.user {
        return Ok(());
    }
    check(file, call.caller, Permission::Write)
}

/// Whether a caller may remove or rename an entry: write permission for the directory, and in a
/// sticky one the ownership of directory or file.
pub fn check_removal(directory: &Attributes, file: &Attributes, caller: &Caller) -> Result<(), FsError> {
    check_entries(directory, caller)?;
    let owns = caller.is_root() || caller.user() == directory.user || caller.user() == file.user;
    if directory.mode & STICKY == 0 || owns { Ok(()) } else { Err(FsError::NotOwner) }
}

/// Time of a change: the time of the call, and later than the last change of the file.
pub fn change_time(last: Timestamp, now: Timestamp) -> Timestamp {
    now.max(last.next())
}

/// Access time after a read, if it moves: when content was changed since, or after 24 hours.
pub fn access_time(file: &Attributes, now: Timestamp) -> Option<Timestamp> {
    const DAY_SECONDS: i64 = 24 * 60 * 60;
    let old = now.seconds().saturating_sub(file.accessed.seconds()) >= DAY_SECONDS;
    let moves = file.accessed <= file.modified || old;
    (moves && now > file.accessed).then_some(now)
}

/// Mode after a change of content or owner by this caller: set-user-id, and set-group-id of an
/// executable, do not outlive a change by anybody but user 0.
pub fn mode_after_change(file: &Attributes, caller: &Caller) -> u16 {
    if caller.is_root() || file.kind != Kind::File {
        return file.mode;
    }
    let group = if file.mode & 0o010 != 0 { SET_GROUP_ID } else { 0 };
    file.mode & !(SET_USER_ID | group)
}

/// Checks a change of attributes, and returns them as they will be. Size, link count and change value
/// are left to the file system; mode and times follow from a new size, too.
pub fn set_attributes(file: &Attributes, set: &SetAttributes, call: Call<'_>) -> Result<Attributes, FsError> {
    let (caller, mut after) = (call.caller, *file);
    let owner = caller.is_root() || caller.user() == file.user;
    after.changed = change_time(file.changed, call.now);
    if set.size_bytes.is_some() {
        FsError::need_file(file.kind)?;
        check_write(file, call)?;
        after.modified = after.changed;
        after.mode = mode_after_change(&after, caller);
    }
    if let Some(user) = set.user {
        let keeps = owner && user == file.user;
        if !caller.is_root() && !keeps {
            return Err(FsError::NotOwner);
        }
        after.user = user;
    }
    if let Some(group) = set.group {
        let may = owner && (group == file.group || caller.is_in(group));
        if !caller.is_root() && !may {
            return Err(FsError::NotOwner);
        }
        after.group = group;
    }
    if set.user.is_some() || set.group.is_some() {
        after.mode = mode_after_change(&after, caller);
    }
    if let Some(mode) = set.mode {
        if !owner {
            return Err(FsError::NotOwner);
        }
        after.mode = mode & MODE_BITS;
        if !caller.is_root() && file.kind != Kind::Directory && !caller.is_in(after.group) {
            after.mode &= !SET_GROUP_ID;
        }
    }
    after.accessed = time(set.accessed, after.accessed, owner, file, call)?;
    after.modified = time(set.modified, after.modified, owner, file, call)?;
    Ok(after)
}

/// Time after a change. Only the owner sets one freely; write permission is enough for the present.
fn time(
    set: Option<SetTime>,
    time: Timestamp,
    owner: bool,
    file: &Attributes,
    call: Call<'_>,
) -> Result<Timestamp, FsError> {
    match set {
        None => Ok(time),
        Some(SetTime::To(time)) => owner.then_some(time).ok_or(FsError::NotOwner),
        Some(SetTime::Now) if owner => Ok(call.now),
        Some(SetTime::Now) => check(file, call.caller, Permission::Write).map(|()| call.now),
    }
}

/// Attributes of a new file, of which `blank` has the identity, kind and device.
pub fn new_file(
    blank: &Attributes,
    directory: &Attributes,
    set: &SetAttributes,
    call: Call<'_>,
) -> Result<Attributes, FsError> {
    let inherits = directory.mode & SET_GROUP_ID != 0;
    let now = call.now;
    let own = Attributes {
        mode: 0,
        user: call.caller.user(),
        group: if inherits { directory.group } else { call.caller.group() },
        accessed: now,
        modified: now,
        changed: now,
        born: now,
        ..*blank
    };
    if set.size_bytes.is_some_and(|size| size > 0) {
        FsError::need_file(own.kind)?;
    }
    // The size is that of a file which the caller owns, so that only the other attributes can be refused.
    let mut file = set_attributes(&own, &SetAttributes { size_bytes: None, ..*set }, call)?;
    file.changed = now;
    if inherits && file.kind == Kind::Directory {
        file.mode |= SET_GROUP_ID;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anonymous, ChangeValue, Device, FileId, Squash};

    const OWNER: u32 = 10;
    const GROUP: u32 = 20;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::new(seconds, 0).unwrap_or_default()
    }

    fn file(kind: Kind, mode: u16) -> Attributes {
        Attributes {
            file: FileId(5),
            kind,
            mode,
            links: 1,
            user: OWNER,
            group: GROUP,
            size_bytes: 0,
            used_bytes: 0,
            device: Device::default(),
            change: ChangeValue(1),
            accessed: at(100),
            modified: at(100),
            changed: at(100),
            born: at(100),
        }
    }

    fn caller(user: u32, group: u32) -> Caller {
        Caller::new(user, group, &[], Squash::None, Anonymous { user: 0, group: 0 })
    }

    fn letters(file: &Attributes, caller: &Caller) -> String {
        let Permissions { read, write, execute } = Permissions::of(file, caller);
        [(read, 'r'), (write, 'w'), (execute, 'x')].map(|(has, letter)| if has { letter } else { '-' }).iter().collect()
    }

    #[test]
    fn the_first_class_of_a_caller_decides() {
        let secret = file(Kind::File, 0o037);
        assert_eq!(letters(&secret, &caller(OWNER, GROUP)), "---");
        assert_eq!(letters(&secret, &caller(1, GROUP)), "-wx");
        assert_eq!(letters(&secret, &caller(1, 1)), "rwx");
        let supplementary = Caller::new(1, 1, &[7, GROUP], Squash::None, Anonymous { user: 0, group: 0 });
        assert_eq!(letters(&secret, &supplementary), "-wx");
    }

    #[test]
    fn root_executes_only_files_with_an_execute_bit() {
        assert_eq!(letters(&file(Kind::File, 0), &Caller::root()), "rw-");
        assert_eq!(letters(&file(Kind::File, 0o001), &Caller::root()), "rwx");
        assert_eq!(letters(&file(Kind::Directory, 0), &Caller::root()), "rwx");
    }

    #[test]
    fn the_owner_reads_and_writes_content_whatever_the_mode() {
        let (owner, other) = (caller(OWNER, 1), caller(1, 1));
        let closed = file(Kind::File, 0);
        assert_eq!(check_read(&closed, Call::new(&owner, at(1))), Ok(()));
        assert_eq!(check_write(&closed, Call::new(&owner, at(1))), Ok(()));
        let denied = |needs| Err(FsError::Denied { needs });
        assert_eq!(check_read(&closed, Call::new(&other, at(1))), denied(Permission::Read));
        assert_eq!(check_write(&closed, Call::new(&other, at(1))), denied(Permission::Write));
        assert_eq!(check_write(&closed, Call::new(&other, at(1)).opened()), Ok(()));
        assert_eq!(check_read(&file(Kind::File, 0o001), Call::new(&other, at(1))), Ok(()));
        // The owner's privilege is about content: names and attributes follow the bits.
        assert_eq!(check(&closed, &owner, Permission::Read), denied(Permission::Read));
    }

    #[test]
    fn in_a_sticky_directory_owners_remove() {
        let mut directory = file(Kind::Directory, 0o1777);
        directory.user = 99;
        let victim = file(Kind::File, 0o666);
        for (user, fine) in [(OWNER, true), (99, true), (0, true), (1, false)] {
            assert_eq!(check_removal(&directory, &victim, &caller(user, 1)).is_ok(), fine, "{user}");
        }
        directory.mode = 0o777;
        assert_eq!(check_removal(&directory, &victim, &caller(1, 1)), Ok(()));
    }

    #[test]
    fn owners_set_mode_and_times_and_root_sets_the_owner() {
        let (owner, other, root) = (caller(OWNER, 30), caller(1, 1), Caller::root());
        let set = |caller: &Caller, set: SetAttributes| {
            set_attributes(&file(Kind::File, 0o640), &set, Call::new(caller, at(200)))
                .map(|after| (after.mode, after.user, after.group, after.accessed.seconds(), after.modified.seconds()))
        };
        let mode = SetAttributes { mode: Some(0o600), ..Default::default() };
        assert_eq!(set(&owner, mode), Ok((0o600, OWNER, GROUP, 100, 100)));
        assert_eq!(set(&other, mode), Err(FsError::NotOwner));
        let user = SetAttributes { user: Some(11), ..Default::default() };
        assert_eq!(set(&owner, user), Err(FsError::NotOwner));
        assert_eq!(set(&root, user), Ok((0o640, 11, GROUP, 100, 100)));
        assert!(set(&owner, SetAttributes { user: Some(OWNER), ..Default::default() }).is_ok());
        let group = |group| SetAttributes { group: Some(group), ..Default::default() };
        assert_eq!(set(&owner, group(30)), Ok((0o640, OWNER, 30, 100, 100)));
        assert_eq!(set(&owner, group(31)), Err(FsError::NotOwner));
        let times = |time| SetAttributes { accessed: Some(time), modified: Some(time), ..Default::default() };
        assert_eq!(set(&owner, times(SetTime::To(at(5)))), Ok((0o640, OWNER, GROUP, 5, 5)));
        assert_eq!(set(&other, times(SetTime::To(at(5)))), Err(FsError::NotOwner));
        assert_eq!(set(&other, times(SetTime::Now)), Err(FsError::Denied { needs: Permission::Write }));
        assert_eq!(set(&caller(1, GROUP), times(SetTime::Now)), Err(FsError::Denied { needs: Permission::Write }));
        assert_eq!(set(&owner, times(SetTime::Now)), Ok((0o640, OWNER, GROUP, 200, 200)));
    }

    #[test]
    fn set_id_bits_do_not_outlive_a_change_by_a_user() {
        let (owner, root) = (caller(OWNER, GROUP), Caller::root());
        assert_eq!(mode_after_change(&file(Kind::File, 0o6755), &owner), 0o755);
        assert_eq!(mode_after_change(&file(Kind::File, 0o6745), &owner), 0o2745);
        assert_eq!(mode_after_change(&file(Kind::File, 0o6755), &root), 0o6755);
        let size = SetAttributes { size_bytes: Some(0), ..Default::default() };
        let after = set_attributes(&file(Kind::File, 0o4755), &size, Call::new(&owner, at(200)));
        assert_eq!(after.map(|after| (after.mode, after.modified)), Ok((0o755, at(200))));
        // A group that the caller is not in cannot be lent to others.
        let mode = SetAttributes { mode: Some(0o2755), ..Default::default() };
        let after = |caller: &Caller| {
            set_attributes(&file(Kind::File, 0o755), &mode, Call::new(caller, at(200))).map(|after| after.mode)
        };
        assert_eq!((after(&caller(OWNER, 1)), after(&owner)), (Ok(0o755), Ok(0o2755)));
    }

    #[test]
    fn a_size_belongs_to_a_regular_file_that_may_be_written() {
        let size = SetAttributes { size_bytes: Some(7), ..Default::default() };
        let set = |kind, user| set_attributes(&file(kind, 0o600), &size, Call::new(&caller(user, 1), at(200))).err();
        assert_eq!(set(Kind::Directory, OWNER), Some(FsError::IsDirectory));
        assert_eq!(set(Kind::Fifo, OWNER), Some(FsError::WrongKind { kind: Kind::Fifo }));
        assert_eq!(set(Kind::File, 1), Some(FsError::Denied { needs: Permission::Write }));
        assert_eq!(set(Kind::File, OWNER), None);
    }

    #[test]
    fn a_new_file_belongs_to_its_caller_and_a_set_group_id_directory_gives_the_group() {
        let call = caller(1, 2);
        let new = |mode, kind, set: SetAttributes| {
            let (directory, blank) = (file(Kind::Directory, mode), file(kind, 0));
            new_file(&blank, &directory, &set, Call::new(&call, at(7)))
                .map(|new| (new.user, new.group, new.mode, new.changed.seconds()))
        };
        let mode = SetAttributes { mode: Some(0o640), ..Default::default() };
        assert_eq!(new(0o777, Kind::File, mode), Ok((1, 2, 0o640, 7)));
        assert_eq!(new(0o2777, Kind::File, mode), Ok((1, GROUP, 0o640, 7)));
        assert_eq!(new(0o2777, Kind::Directory, mode), Ok((1, GROUP, 0o2640, 7)));
        assert_eq!(new(0o777, Kind::File, SetAttributes { user: Some(3), ..mode }), Err(FsError::NotOwner));
        assert_eq!(new(0o777, Kind::File, SetAttributes { size_bytes: Some(9), ..mode }), Ok((1, 2, 0o640, 7)));
        let sized = new(0o777, Kind::Directory, SetAttributes { size_bytes: Some(9), ..mode });
        assert_eq!(sized, Err(FsError::IsDirectory));
    }

    #[test]
    fn the_time_of_a_change_is_later_than_the_last_one() {
        assert_eq!(change_time(at(5), at(7)), at(7));
        assert_eq!(change_time(at(5), at(5)), at(5).next());
        assert_eq!(change_time(at(5), at(3)), at(5).next());
    }

    #[test]
    fn the_access_time_moves_after_a_change_or_a_day() {
        let mut file = file(Kind::File, 0);
        assert_eq!(access_time(&file, at(101)), Some(at(101)));
        file.accessed = at(150);
        assert_eq!(access_time(&file, at(160)), None);
        assert_eq!(access_time(&file, at(150 + 86_400)), Some(at(150 + 86_400)));
        file.modified = at(155);
        assert_eq!(access_time(&file, at(160)), Some(at(160)));
        assert_eq!(access_time(&file, at(140)), None);
    }
}
