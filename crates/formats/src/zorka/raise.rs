//! The model to a stream of one generation, or to posts of agents: definitions before the trace that needs them.
//!
//! Spans come children first and are written parents first, so a trace is kept until its root is there:
//! memory follows the largest trace, not the input.

use traceloom_model::{
    Asks, Clock, Definitions, Flow, Forgotten, LinkBatch, Note, Order as SpanOrder, Recording,
    Sink, SpanBatch, StringId,
};

use super::dialect::GenerationDialect;
use super::encode::{Encoder, PendingRecord};
use super::posts::PostWriter;
use crate::codec::Buffered;
use crate::spans::parents_first::{Children, PendingSpans};
use crate::{Error, Output, RaiseOptions, Target};

/// A writer of traces.
pub(crate) struct Writer<'o> {
    out: Buffered<'o>,
    form: ContainerForm,
    /// Some attribute that came was set by another span.
    handed_up: bool,
    words: Recording,
    kept: PendingSpans<PendingRecord>,
    forgotten: Forgotten,
    /// Children come before their parents.
    ordered: bool,
    is_empty: bool,
    failed: Option<Error>,
}

/// What traces are written into.
enum ContainerForm {
    /// A stream of items.
    Stream(Box<Encoder>),
    /// A line a trace, with headers that name it.
    Posts(PostWriter),
}

/// Builds a target of request dumps: posts of agents as JSON lines.
pub(crate) fn posts<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(wanted) = options.variant.as_deref() {
        return Err(Error::usage(format!(
            "no variant `{wanted}`; there are none"
        )));
    }
    let posted = super::dialect::C_VARIANTS[0].1;
    let posted = as_it_came(posted, super::REQUESTS.name, options);
    let posts = PostWriter::new(posted);
    Ok(Box::new(Writer::new(ContainerForm::Posts(posts), output)))
}

/// Builds a target of one of the variants of the format `name`.
pub(crate) fn target<'o>(
    name: &str,
    variants: &[(&str, GenerationDialect)],
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let wanted = options.variant.as_deref();
    let found = match wanted {
        None => variants.first(),
        Some(wanted) => variants.iter().find(|(name, _)| *name == wanted),
    };
    let Some((_, dialect)) = found else {
        let names: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
        let text = format!(
            "no variant `{}`; there are: {}",
            wanted.unwrap_or(""),
            names.join(" ")
        );
        return Err(Error::usage(text));
    };
    let dialect = as_it_came(*dialect, name, options);
    let form = ContainerForm::Stream(Box::new(Encoder::new(dialect)));
    Ok(Box::new(Writer::new(form, output)))
}

/// Returns how a generation is written: with all values where recordings of it come, which had them.
fn as_it_came(dialect: GenerationDialect, name: &str, options: &RaiseOptions) -> GenerationDialect {
    if options.sources.contains(&name) {
        dialect.again()
    } else {
        dialect
    }
}

impl<'o> Writer<'o> {
    fn new(form: ContainerForm, output: &'o mut dyn Output) -> Self {
        Self {
            out: Buffered::new(output, ""),
            form,
            handed_up: false,
            words: Recording::default(),
            kept: PendingSpans::default(),
            forgotten: Forgotten::default(),
            ordered: true,
            is_empty: true,
            failed: None,
        }
    }

    fn write_tree(&mut self, root: (PendingRecord, Children)) -> Flow {
        self.is_empty = false;
        let out = &mut self.out.bytes;
        let (kept, words) = (&mut self.kept, &self.words);
        let written = match &mut self.form {
            ContainerForm::Stream(encoder) => {
                encoder.handed_up = self.handed_up;
                encoder.tree(root, kept, words, out)
            }
            ContainerForm::Posts(posts) => posts.tree(root, self.handed_up, kept, words, out),
        };
        match written {
            Ok(()) => self.out.spilled(),
            Err(error) => {
                self.failed.get_or_insert(error);
                Flow::Break(())
            }
        }
    }
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: SpanOrder, clock: Clock) {
        self.ordered = order != SpanOrder::None;
        self.words.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.words.define(definitions)
    }

    fn spans(&mut self, mut batch: SpanBatch) -> Flow {
        let mut taken = self.kept.take(&mut batch);
        for row in batch.iter() {
            let own = taken.next(&batch);
            let node = PendingRecord::of(&row, own, self.kept.attributes.of(own.attributes));
            self.handed_up |= node.handed_up;
            match row.parent {
                Some(parent) => self.kept.waiting.push(parent, node),
                None if self.ordered => {
                    let children = self.kept.waiting.of(row.id);
                    self.write_tree((node, children))?;
                }
                None => self.kept.roots.push(node),
            }
        }
        self.kept.tidy();
        Flow::Continue(())
    }

    fn links(&mut self, _batch: LinkBatch) -> Flow {
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        let free = self.forgotten.free(strings, self.kept.values());
        self.words.drop_strings(&free);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut roots = std::mem::take(&mut self.kept.roots);
        roots.sort_by_key(|node| (node.start, node.id));
        for root in roots {
            let children = self.kept.waiting.of(root.id);
            if self.write_tree((root, children)).is_break() {
                break;
            }
        }
        // Spans whose parent never came: each is the root of what it encloses.
        while self.failed.is_none() && !self.kept.waiting.is_empty() {
            let tops = self.kept.waiting.take_tops();
            if tops.is_empty() {
                break;
            }
            for top in tops {
                if self.write_tree(top).is_break() {
                    break;
                }
            }
        }
        if self.is_empty {
            match &mut self.form {
                ContainerForm::Stream(encoder) => encoder.define_one(&mut self.out.bytes),
                ContainerForm::Posts(posts) => posts.define_one(&mut self.out.bytes),
            }
        }
        let done = self.out.finish();
        self.failed.take().map_or(done, Err)
    }
}
