//! Paths: from the root of a share, name by name. No symbolic link is followed.

use super::refusal::refused;
use control::{FileError, FilePlace, FileRefusal};
use vfs::{Attributes, Call, FileSystem, FsError, Kind, Name};

/// Place of a new file.
pub(super) struct Target {
    /// Directory.
    pub directory: Attributes,
    /// Name in it.
    pub name: Name,
}

/// `SHARE/PATH` up to the end of a part of the path.
fn shown(place: &FilePlace, end: usize) -> String {
    let before = place.shown.len().saturating_sub(place.path.len());
    place.shown.get(..before + end).unwrap_or(&place.shown).to_owned()
}

/// Names of a path, each with the end of its part of the path.
fn names(path: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut end = 0;
    path.split('/').filter(move |_| !path.is_empty()).map(move |name| {
        end += name.len() + usize::from(end > 0);
        (name, end)
    })
}

fn name_of(text: &str, shown: &str) -> Result<Name, FileError> {
    Name::try_from(text).map_err(|error| FileError::InvalidPath { path: shown.to_owned(), reason: error.to_string() })
}

/// Follows names from the root.
async fn follow<F: FileSystem>(
    files: &F,
    call: Call<'_>,
    place: &FilePlace,
    names: impl Iterator<Item = (&str, usize)>,
) -> Result<Attributes, FileRefusal> {
    let root = files.attributes(files.root()).await;
    let mut found = root.map_err(|error| refused(error, &place.shown))?;
    let mut at = shown(place, 0).trim_end_matches('/').to_owned();
    for (text, end) in names {
        check_directory(found.kind, &at)?;
        at = shown(place, end);
        let name = name_of(text, &place.shown)?;
        let looked_up = files.lookup(call, found.file, &name).await;
        found = looked_up.map_err(|error| refused(error, &at))?.file;
    }
    Ok(found)
}

/// Refuses to go on behind anything but a directory.
fn check_directory(kind: Kind, shown: &str) -> Result<(), FileError> {
    let path = shown.to_owned();
    match kind {
        Kind::Directory => Ok(()),
        Kind::Symlink => Err(FileError::SymbolicLink { path }),
        kind => Err(FileError::NotDirectory { path, kind: kind.to_string() }),
    }
}

/// Finds a file of any kind.
pub(super) async fn locate<F: FileSystem>(
    files: &F,
    call: Call<'_>,
    place: &FilePlace,
) -> Result<Attributes, FileRefusal> {
    follow(files, call, place, names(&place.path)).await
}

/// Finds a regular file.
pub(super) async fn regular<F: FileSystem>(
    files: &F,
    call: Call<'_>,
    place: &FilePlace,
) -> Result<Attributes, FileRefusal> {
    let found = follow(files, call, place, names(&place.path)).await?;
    FsError::need_file(found.kind).map_err(|error| refused(error, &place.shown))?;
    Ok(found)
}

/// Finds the directory of a new file.
pub(super) async fn locate_new<F: FileSystem>(
    files: &F,
    call: Call<'_>,
    place: &FilePlace,
) -> Result<Target, FileRefusal> {
    let (parent, name) = place.path.rsplit_once('/').unwrap_or(("", &place.path));
    let name = name_of(name, &place.shown)?;
    let directory = follow(files, call, place, names(parent)).await?;
    check_directory(directory.kind, shown(place, parent.len()).trim_end_matches('/'))?;
    Ok(Target { directory, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::ObjectId;

    #[test]
    fn each_name_has_the_path_up_to_it() {
        let place = FilePlace {
            share: ObjectId(1),
            snapshot: None,
            path: "a/bc/d".to_owned(),
            shown: "vms@monday/a/bc/d".to_owned(),
        };
        let found: Vec<(&str, String)> = names(&place.path).map(|(name, end)| (name, shown(&place, end))).collect();
        let expected = [("a", "vms@monday/a"), ("bc", "vms@monday/a/bc"), ("d", "vms@monday/a/bc/d")];
        assert_eq!(found, expected.map(|(name, path)| (name, path.to_owned())));
        assert_eq!(names("").count(), 0);
        assert_eq!(names("a//b").map(|(name, _)| name).collect::<Vec<_>>(), ["a", "", "b"]);
    }
}
