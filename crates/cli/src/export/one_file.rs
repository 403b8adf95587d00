//! An output of one file.

use std::path::Path;

use traceloom_formats::{Error, Output};
use traceloom_input::save::Save;

use super::Options;
use crate::streams;

/// One file, or standard output.
pub(super) enum OneFile {
    File(Box<Save>),
    Stdout,
}

impl OneFile {
    pub(super) fn start(options: &Options) -> anyhow::Result<Self> {
        if options.output == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let save = Save::start(&options.output, false, options.force)?;
        Ok(Self::File(Box::new(save)))
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        if let Self::File(save) = self {
            save.commit()?;
        }
        Ok(())
    }
}

impl Output for OneFile {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::File(save) => save.write(name, bytes),
            Self::Stdout => streams::raw(bytes).map_err(|error| Error::io(error.to_string())),
        }
    }
}
