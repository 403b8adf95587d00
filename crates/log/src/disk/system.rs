//! Where systems differ: reading at a place, files that others may not read, names that are durable.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// A file that is read and written at places, by several at once. Its cursor is not used.
pub trait PlacedFile {
    /// Reads from `offset` into `buffer` and returns the number of bytes read, 0 only at the end.
    ///
    /// # Errors
    /// When the file system refuses.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at `offset`, and returns the number of bytes written.
    ///
    /// # Errors
    /// When the file system refuses.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// When the file ends before, or cannot be read.
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n_read) => {
                    buffer = &mut buffer[n_read..];
                    offset += n_read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all bytes at `offset`.
    ///
    /// # Errors
    /// When the file system refuses; a part of `bytes` may have been written then.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n_written) => {
                    bytes = &bytes[n_written..];
                    offset += n_written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
impl PlacedFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }
}

#[cfg(windows)]
impl PlacedFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, bytes, offset)
    }
}

/// Has files that are created be readable by their owner alone. On Windows they are as their folder says.
pub fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Has folders that are made be readable by their owner alone. On Windows they are as the folder above says.
pub fn folders_for_owner_alone(builder: &mut DirBuilder) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder
}

/// Keeps others out of a folder that is there already. On Windows it stays as it is.
///
/// # Errors
/// When the file system refuses.
pub fn keep_others_out(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder, mode)?;
    }
    let _ = folder;
    Ok(())
}

/// Makes the names in a folder durable. Windows has no such request.
///
/// # Errors
/// When the file system refuses.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    let _ = folder;
    Ok(())
}

/// Returns true if both are of the same file. On Windows files are told apart by when they were made.
#[must_use]
pub fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        one.created().ok() == other.created().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_written_at_places() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        let file =
            for_owner_alone(File::options().read(true).write(true).create_new(true)).open(&path)?;
        file.write_all_at(b"world", 6)?;
        file.write_all_at(b"hello ", 0)?;
        let mut bytes = [0; 5];
        file.read_exact_at(&mut bytes, 4)?;
        assert_eq!(&bytes, b"o wor");
        assert_eq!(file.read_at(&mut bytes, 9)?, 2);
        let error = file.read_exact_at(&mut bytes, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let other = folder.path().join("b");
        std::fs::write(&other, "")?;
        assert!(is_same_file(&file.metadata()?, &path.metadata()?));
        assert!(!is_same_file(&file.metadata()?, &other.metadata()?));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);
            keep_others_out(folder.path())?;
            assert_eq!(
                folder.path().metadata()?.permissions().mode() & 0o777,
                0o700
            );
        }
        sync_folder(folder.path())
    }
}
