//! Directories for what programs leave on a machine while it runs.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use binder_os::processes;

use crate::failure::Failure;

const OF_ROOT: &str = "/run";

/// Ours, in any of these.
pub(crate) const NAME: &str = "anybinder";

/// The one for what is there until the machine stops: root's `/run`. Others have none but [their own](of_user), nor has who is
/// root in a user namespace alone, as rootless podman is.
pub(crate) fn of_machine() -> Result<PathBuf, Failure> {
    let (uid, _) = processes::user();
    if uid == 0 && is_kept_by(Path::new(OF_ROOT), uid) {
        return Ok(OF_ROOT.into());
    }
    of_user()
}

/// The one for what belongs to this user, who may not be there all the time.
pub(crate) fn of_user() -> Result<PathBuf, Failure> {
    let (uid, _) = processes::user();
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let of_user = PathBuf::from(format!("/run/user/{uid}"));
    let of_root = (uid == 0).then(|| PathBuf::from(OF_ROOT));
    for dir in named.into_iter().chain([of_user]).chain(of_root) {
        if dir.is_absolute() && is_kept_by(&dir, uid) {
            return Ok(dir);
        }
        tracing::info!(dir = %dir.display(), "no directory that only this user can change: passed over");
    }
    let shared = PathBuf::from(format!("/tmp/anybinder-{uid}"));
    make(&shared, PRIVATE)?;
    Ok(shared)
}

/// Whether only this user can make files in a directory. A symbolic link is not followed.
fn is_kept_by(dir: &Path, uid: u32) -> bool {
    fs::symlink_metadata(dir)
        .is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o022 == 0)
}

/// Advice where a directory cannot be made.
pub(crate) const ADVICE: &str = "set XDG_RUNTIME_DIR to a directory that you alone can change";

/// The mode of a directory that is open to its user alone.
pub(crate) const PRIVATE: u32 = 0o700;

/// Makes a directory of this user's with a mode that lets others do no more than look, unless there is one that lets them
/// do no more than that.
pub(crate) fn make(dir: &Path, mode: u32) -> Result<(), Failure> {
    let tried = || format!("making the directory {}", dir.display());
    match DirBuilder::new().mode(mode).create(dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Failure::new(tried(), error).advise(ADVICE));
        }
        Ok(()) | Err(_) => {}
    }
    let (uid, _) = processes::user();
    let found = fs::symlink_metadata(dir).map_err(|error| Failure::new(tried(), error))?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o777 & !mode != 0 {
        let answer = match mode {
            PRIVATE => "it is no directory that only this user can open",
            _ => "it is no directory that only this user can change",
        };
        return Err(Failure::new(tried(), answer)
            .advise("remove it, or set XDG_RUNTIME_DIR to a directory of your own"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_may_change_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        make(&own, PRIVATE).unwrap();
        make(&own, PRIVATE).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        let (uid, _) = processes::user();
        assert!(is_kept_by(&own, uid) && !is_kept_by(&own, uid + 1));
        // As the drivers of containers make root's.
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make(&own, PRIVATE).is_err() && make(&own, 0o755).is_ok());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(make(&own, 0o755).is_err() && !is_kept_by(&own, uid));
        let link = dir.path().join("link");
        symlink(dir.path(), &link).unwrap();
        assert!(make(&link, 0o755).is_err() && !is_kept_by(&link, uid));
    }
}
