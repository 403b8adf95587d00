//! The inputs of a command, and the one loop over their recordings.

use std::rc::Rc;

use clap::Args;
use traceloom_analysis::filter::Filter;
use traceloom_analysis::mailed;
use traceloom_input::Input;
use traceloom_model::Notes;

use crate::args::Common;
use crate::lowered::{documents, doubt, is_one};
use crate::open::{open, with_progress};
use crate::outcome::Outcome;
use crate::read_plan::{ReadPlan, RecordingReader};
use crate::select::MethodFlags;
use crate::streams::message;
use crate::timing::TimeFlags;
use crate::usage::Usage;

/// What every command takes that reads recordings.
#[derive(Args, Clone, Default)]
pub(crate) struct ReadFlags {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    #[command(flatten)]
    pub(crate) methods: MethodFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// Paths by their place that could not be opened, and were told: they keep their numbers.
    #[arg(skip)]
    pub(crate) unopened: Vec<usize>,
    /// What a page says of what it is made from.
    #[arg(long, value_name = "TEXT", hide = true)]
    pub(crate) doubt: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl ReadFlags {
    /// Returns the inputs, none of which is open yet.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            flags: self,
            paths: self.paths.iter().enumerate(),
            methods: None,
            shown: false,
            failed: false,
            doubts: self.doubt.iter().cloned().collect(),
        }
    }

    /// Fails for names that flags ask for and nothing that was read has.
    pub(crate) fn check_names(&self) -> anyhow::Result<()> {
        self.time.check_names(&self.common)
    }
}

/// The inputs of a command that shows several: what cannot be opened, or holds nothing to show, is told, and
/// the others are shown all the same.
pub(crate) struct Inputs<'f> {
    flags: &'f ReadFlags,
    paths: std::iter::Enumerate<std::slice::Iter<'f, String>>,
    /// The methods that are admitted, once they are read.
    methods: Option<Filter>,
    shown: bool,
    failed: bool,
    /// What is wrong with those that were read, a sentence each.
    pub(crate) doubts: Vec<String>,
}

impl<'f> Inputs<'f> {
    /// Opens the next input that there is; borders in time count from its own start and end.
    ///
    /// # Errors
    /// For the last path, when nothing before it could be shown either.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<OpenInput<'f>>> {
        let methods = self.methods()?;
        let Some((number, input)) = self.open_next()? else {
            return Ok(None);
        };
        let ReadFlags { time, common, .. } = self.flags;
        let plan = Rc::new(ReadPlan::new(time, methods, common, [(number, &input)])?);
        Ok(Some(OpenInput::new(number, input, plan)))
    }

    /// Opens a path that stands for the input of a number.
    pub(crate) fn open_path(&mut self, number: usize, path: &str) -> anyhow::Result<OpenInput<'f>> {
        let methods = self.methods()?;
        let ReadFlags { time, common, .. } = self.flags;
        let input = open(path, common)?;
        let plan = Rc::new(ReadPlan::new(time, methods, common, [(number, &input)])?);
        Ok(OpenInput::new(number, input, plan))
    }

    /// Opens all that there are; borders in time count from the first start and the last end.
    pub(crate) fn all(&mut self) -> anyhow::Result<Vec<OpenInput<'f>>> {
        let methods = self.methods()?;
        let mut inputs = Vec::new();
        while let Some(opened) = self.open_next()? {
            inputs.push(opened);
        }
        let ReadFlags { time, common, .. } = self.flags;
        let numbered = inputs.iter().map(|(number, input)| (*number, input));
        let plan = Rc::new(ReadPlan::new(time, methods, common, numbered)?);
        let open = |(number, input)| OpenInput::new(number, input, Rc::clone(&plan));
        Ok(inputs.into_iter().map(open).collect())
    }

    /// Reads the rules for methods once: their file may be a pipe.
    fn methods(&mut self) -> anyhow::Result<Filter> {
        if self.methods.is_none() {
            self.methods = Some(self.flags.methods.rules()?);
        }
        Ok(self.methods.clone().unwrap_or_default())
    }

    fn open_next(&mut self) -> anyhow::Result<Option<(usize, Input)>> {
        while let Some((at, path)) = self.paths.next() {
            if self.flags.unopened.contains(&at) {
                continue;
            }
            let opened = open(path, &self.flags.common).and_then(|input| {
                documents(&input)?;
                Ok(input)
            });
            match opened {
                Ok(input) => {
                    self.shown = true;
                    return Ok(Some((at + 1, input)));
                }
                Err(error) => {
                    let last = self.paths.len() == 0 && !self.shown;
                    if last || error.is::<Usage>() {
                        return Err(error);
                    }
                    crate::tell(&error);
                    self.failed = true;
                }
            }
        }
        Ok(None)
    }

    /// Says what is wrong with an input that was read, and keeps it for a page, which is mailed: without the folders of
    /// whoever makes it.
    pub(crate) fn doubt(&mut self, input: &Input, notes: &[Notes]) {
        if let Some(doubt) = doubt(input, notes) {
            message!("{doubt}");
            let bare = |doubt: String, path: &String| doubt.replace(path, &mailed(path));
            self.doubts.push(self.flags.paths.iter().fold(doubt, bare));
        }
    }

    /// Returns how the command ended, so far as its inputs go.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.failed {
            Outcome::Failed
        } else {
            Outcome::Done
        }
    }
}

/// An input that is open, with the plan by which its recordings are read.
pub(crate) struct OpenInput<'f> {
    /// Number of its path, counted from 1.
    pub(crate) number: usize,
    pub(crate) input: Input,
    /// It is one recording, which can be lowered.
    pub(crate) is_one: bool,
    plan: Rc<ReadPlan<'f>>,
}

impl<'f> OpenInput<'f> {
    fn new(number: usize, input: Input, plan: Rc<ReadPlan<'f>>) -> Self {
        Self {
            number,
            is_one: is_one(&input),
            input,
            plan,
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.input.path()
    }

    /// Returns the recordings, each with its reader.
    pub(crate) fn recordings(&self) -> anyhow::Result<Vec<RecordingReader<'_>>> {
        let documents = documents(&self.input)?.into_iter();
        let reader = |document| self.plan.recording(self.number, &self.input, document);
        Ok(documents.map(reader).collect())
    }

    /// Reads every recording in turn, with a bar on the terminal, and returns their notes.
    pub(crate) fn read(
        &self,
        read: impl FnMut(&RecordingReader<'_>) -> anyhow::Result<Notes>,
    ) -> anyhow::Result<Vec<Notes>> {
        self.read_by(|_| 0, read)
    }

    /// Reads every recording, those with the least key first, and returns their notes.
    pub(crate) fn read_by(
        &self,
        key: impl FnMut(&RecordingReader<'_>) -> usize,
        mut read: impl FnMut(&RecordingReader<'_>) -> anyhow::Result<Notes>,
    ) -> anyhow::Result<Vec<Notes>> {
        with_progress(&self.input, "reading", || {
            let mut recordings = self.recordings()?;
            recordings.sort_by_cached_key(key);
            recordings.iter().map(&mut read).collect()
        })
    }
}
