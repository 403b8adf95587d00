//! Which paths tools may read.

use std::path::{Path, PathBuf};

use traceloom_input::captures::ChosenCaptures;

/// The folder that tools may read.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let whole = path
            .canonicalize()
            .with_context(|| path.display().to_string())?;
        anyhow::ensure!(whole.is_dir(), "{}: not a folder", path.display());
        Ok(Self(whole))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path that a client named, counted from the folder.
    ///
    /// # Errors
    /// Says so where it does not exist or leads out of the folder, over a link too.
    pub(super) fn resolve(&self, path: &str) -> Result<String, String> {
        let joined = self.0.join(path);
        // `DATA#ID` names captures of a collector.
        let chosen = joined.to_str().and_then(ChosenCaptures::of);
        let (file, ids) = match &chosen {
            Some(chosen) => (
                &chosen.folder,
                path.rfind('#').and_then(|at| path.get(at..)),
            ),
            None => (&joined, None),
        };
        let whole = file.canonicalize();
        let whole = whole.map_err(|error| format!("{path}: {error}"))?;
        let Ok(within) = whole.strip_prefix(&self.0) else {
            return Err(format!(
                "{path}: not within the folder {}",
                self.0.display()
            ));
        };
        let ids = ids.unwrap_or_default();
        match within.to_str() {
            Some("") => Ok(format!(".{ids}")),
            // A name like a flag, or like that of standard input.
            Some(text) if text.starts_with('-') => Ok(format!("./{text}{ids}")),
            Some(text) => Ok(format!("{text}{ids}")),
            None => Err(format!("{path}: the path is not valid UTF-8")),
        }
    }
}
