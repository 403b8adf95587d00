//! What is known of the captures of a data folder, for whoever chooses some of them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use traceloom_input::captures::{CaptureSummary, Captures, DataFolder, HeldCaptures};

use crate::Error;
use crate::journal::Journal;

/// The captures of a data folder. A collector holds them in memory, and brings them up to date whenever somebody asks: with its log as it
/// is then, and with what other processes changed in the folder.
pub struct Catalog {
    folder: DataFolder,
    collector: Option<CollectorCatalog>,
}

/// What a running collector holds.
struct CollectorCatalog {
    journal: Arc<Journal>,
    held: Mutex<HeldCaptures>,
}

impl Catalog {
    /// Returns the captures of a folder that are read whenever somebody asks.
    #[must_use]
    pub const fn of(folder: DataFolder) -> Self {
        Self {
            folder,
            collector: None,
        }
    }

    /// Returns the captures that a collector holds.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub(crate) fn beside(
        folder: DataFolder,
        journal: Arc<Journal>,
        incarnation: u64,
    ) -> Result<Self, Error> {
        let held = Mutex::new(HeldCaptures::new(&folder, Some(incarnation))?);
        let collector = Some(CollectorCatalog { journal, held });
        Ok(Self { folder, collector })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the captures of now, in the order in which they began.
    ///
    /// # Errors
    /// When the folder or the log cannot be read.
    pub fn captures(&self) -> Result<Vec<Arc<CaptureSummary>>, Error> {
        let Some(CollectorCatalog { journal, held }) = &self.collector else {
            let list = Captures::read(&self.folder)?.list;
            let summaries = list.iter().map(CaptureSummary::from);
            return Ok(summaries.map(Arc::new).collect());
        };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the look into the folders, so that nothing is sealed and truncated between the two.
        let log = journal.snapshot();
        let read = held.refresh(&log);
        read.map_err(|error| Error::new(format!("{}: {error}", self.path().display())))
    }
}
