//! Calls as the messages of a TPTP profiler: into a file, to a collector, or for a client that says when.
//!
//! A trace has node, process, agent and trace, a definition of each class and method before its first use, threads, and an entry
//! and an exit for each call. It is binary or a document of elements.
//!
//! # Units and limits
//!
//! Times are nanoseconds since 1970. Classes are what stands before the last point of a name; a name without one is a method of the
//! class that has the name of the program. 65,536 names are told apart, those beyond are called `(other names)`. No message
//! has attributes: [`Report::cut`](crate::Report::cut) counts calls that had some, and calls whose name has control characters
//! that the form cannot hold.
//!
//! ```
//! use traceloom_emit::{Options, Recorder, tptp};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("shop.trcbin");
//! let file = tptp::TptpFile::create(&path, "shop", tptp::TraceForm::Binary)?;
//! let recorder = Recorder::start(file, Options::default())?;
//! let thread = recorder.thread("main");
//! drop(thread.call("void shop.Orders.list() (orders.rs:12)"));
//! drop(thread);
//! assert_eq!(recorder.close().written, 1);
//! assert!(std::fs::read(path)?.starts_with(b"0TBF"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod agent;
mod channel;
mod control;
mod encoding;
mod message;

use std::fs::File;
use std::io;
use std::path::Path;

pub use agent::ControlledAgent;
pub use channel::DataChannel;
pub use message::TraceForm;

use crate::calls::buffer::CallBuffer;
use crate::calls::bytes::{ByteDrain, FilePlace};
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::Drain;
use encoding::{ChosenForm, TptpEncoding};

/// A file of a trace, called `.trcbin` or `.trcxml` by custom.
#[derive(Debug)]
pub struct TptpFile {
    file: File,
    program: String,
    form: TraceForm,
}

impl TptpFile {
    /// Makes a file for a trace of a program, in the place of one that is there.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl AsRef<Path>, program: &str, form: TraceForm) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            program: program.to_owned(),
            form,
        })
    }
}

impl TraceOutput for TptpFile {}

impl Drains for TptpFile {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let form = ChosenForm::new(self.form);
        let encoding = TptpEncoding::new(form, state.shared.clock.epoch(), &self.program);
        ByteDrain::boxed(state, encoding, FilePlace::new(self.file))
    }
}
