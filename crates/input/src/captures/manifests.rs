//! The folder of manifests.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use traceloom_log::disk::{Disk, File};

use super::{CaptureId, Manifest};

/// Manifests of all sealed captures. It is the catalog: there is no index beside it.
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
        let name = Manifest::file_name(id, revision);
        let about =
            |error: io::Error| io::Error::new(error.kind(), format!("manifest {name}: {error}"));
        let file = self.0.open(&name).map_err(about)?;
        let bytes = read_whole(&*file).map_err(about)?;
        let manifest = Manifest::decode(&bytes);
        let manifest = manifest.and_then(|manifest| {
            let is_named = (manifest.id, manifest.revision) == (id, revision);
            is_named.then_some(manifest).ok_or("it is that of another")
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
        let mut manifest = self.read_one(id, revision)?;
        while manifest.base > 0 {
            let base = self.read_one(id, manifest.base)?;
            if base.base >= manifest.base {
                let text = format!("manifest {id}.{revision} continues itself");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            manifest = base.with(manifest);
        }
        Ok(manifest)
    }
}

fn read_whole(file: &dyn File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.length()?).unwrap_or(0)];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n_read => filled += n_read,
        }
    }
    Ok(bytes)
}
