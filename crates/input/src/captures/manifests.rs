//! The folder of manifests.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use traceloom_log::disk::{Disk, File};

use super::{CaptureId, ContentHash, Manifest};

/// Manifests of all sealed captures.
#[derive(Clone)]
pub struct Manifests(Arc<dyn Disk>);

impl Manifests {
    /// Reads and writes manifests in a folder.
    #[must_use]
    pub fn new(folder: Arc<dyn Disk>) -> Self {
        Self(folder)
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &dyn Disk {
        &*self.0
    }

    /// Returns the revisions of each capture whose files are there.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<BTreeMap<CaptureId, Vec<u64>>> {
        let mut captures = BTreeMap::<_, Vec<u64>>::new();
        for name in self.0.list()? {
            if let Some((id, revision)) = Manifest::of_file_name(&name) {
                captures.entry(id).or_default().push(revision);
            }
        }
        for revisions in captures.values_mut() {
            revisions.sort_unstable();
        }
        Ok(captures)
    }

    /// Reads one revision, without its base.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is damaged.
    pub fn read_one(&self, id: CaptureId, revision: u64) -> io::Result<Manifest> {
        Ok(self.read_file(id, revision)?.0)
    }

    /// Reads one revision and the hash at the end of its file.
    fn read_file(&self, id: CaptureId, revision: u64) -> io::Result<(Manifest, ContentHash)> {
        let name = Manifest::file_name(id, revision);
        let about =
            |error: io::Error| io::Error::new(error.kind(), format!("manifest {name}: {error}"));
        let file = self.0.open(&name).map_err(about)?;
        let bytes = read_whole(&*file).map_err(about)?;
        let manifest = Manifest::decode(&bytes);
        let manifest = manifest.and_then(|manifest| {
            let is_named = (manifest.id, manifest.revision) == (id, revision);
            let manifest = is_named.then_some(manifest);
            let hashed = manifest.zip(Manifest::hash(&bytes));
            hashed.ok_or("it is that of another")
        });
        manifest.map_err(|why| {
            let text = format!("manifest {name} is damaged: {why}");
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// Reads a revision with everything that it continues.
    ///
    /// # Errors
    /// As [`Manifests::read_one`].
    pub fn read(&self, id: CaptureId, revision: u64) -> io::Result<Manifest> {
        Ok(self.read_hashed(id, revision)?.0)
    }

    /// As [`Manifests::read`], with the hash at the end of the file of the revision.
    ///
    /// # Errors
    /// As [`Manifests::read_one`].
    pub fn read_hashed(&self, id: CaptureId, revision: u64) -> io::Result<(Manifest, ContentHash)> {
        let (mut manifest, hash) = self.read_file(id, revision)?;
        while manifest.base > 0 {
            let base = self.read_one(id, manifest.base)?;
            if base.base >= manifest.base {
                let text = format!("manifest {id}.{revision} continues itself");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            manifest = base.with(manifest);
        }
        Ok((manifest, hash))
    }

    /// Returns `true` if the file of a revision is there.
    pub(super) fn has(&self, id: CaptureId, revision: u64) -> bool {
        self.0.open(&Manifest::file_name(id, revision)).is_ok()
    }

    /// Returns the hash at the end of the file of a revision, without reading the rest.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn hash(&self, id: CaptureId, revision: u64) -> io::Result<ContentHash> {
        let file = self.0.open(&Manifest::file_name(id, revision))?;
        let mut hash = [0; 32];
        let at = file.length()?.checked_sub(hash.len() as u64);
        read_exact_at(&*file, &mut hash, at.ok_or(io::ErrorKind::UnexpectedEof)?)?;
        Ok(ContentHash(hash))
    }
}

fn read_whole(file: &dyn File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.length()?).unwrap_or(0)];
    read_exact_at(file, &mut bytes, 0)?;
    Ok(bytes)
}

fn read_exact_at(file: &dyn File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, at + filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n_read => filled += n_read,
        }
    }
    Ok(())
}
