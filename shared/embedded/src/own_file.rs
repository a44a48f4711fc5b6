//! Files in the data folder that hold a secret of the services.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Opens a file, made when it is missing, that only this user may read, and locks it: of several processes that fill a
/// new one, the first does and the others find it filled.
pub(crate) fn open_locked(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.lock()?;
    Ok(file)
}
