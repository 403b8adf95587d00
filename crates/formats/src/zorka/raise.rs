//! The model to a stream of one generation: definitions before the trace that needs them.
//!
//! Spans come children first and are written parents first, so a trace is kept until its root is there:
//! memory follows the largest trace, not the input.

use traceloom_model::{
    Clock, Definitions, Flow, Forgotten, LinkBatch, Note, Order as SpanOrder, Recording, Sink,
    SpanBatch, StringId,
};

use super::dialect::Dialect;
use super::encode::{Encoder, Node};
use crate::output::Buffered;
use crate::waiting::{Children, Kept};
use crate::{Error, Output, RaiseOptions, Target};

/// A writer of traces.
pub(crate) struct Raiser<'o> {
    out: Buffered<'o>,
    encoder: Encoder,
    words: Recording,
    kept: Kept<Node>,
    forgotten: Forgotten,
    /// Children come before their parents.
    ordered: bool,
    failed: Option<Error>,
}

/// Builds a target of one of these variants.
pub(crate) fn target<'o>(
    variants: &[(&str, Dialect)],
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
    Ok(Box::new(Raiser {
        out: Buffered::new(output, ""),
        encoder: Encoder::new(*dialect),
        words: Recording::default(),
        kept: Kept::default(),
        forgotten: Forgotten::default(),
        ordered: true,
        failed: None,
    }))
}

impl Raiser<'_> {
    fn write_tree(&mut self, root: (Node, Children)) -> Flow {
        let out = &mut self.out.bytes;
        let written = self.encoder.tree(root, &mut self.kept, &self.words, out);
        match written {
            Ok(()) => self.out.spilled(),
            Err(error) => {
                self.failed.get_or_insert(error);
                Flow::Break(())
            }
        }
    }
}

impl Sink for Raiser<'_> {
    fn wants_derived_samples(&self) -> bool {
        false
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
            let node = Node::of(&row, own, self.kept.attributes.of(own.attributes));
            self.encoder.handed_up |= node.handed_up;
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

impl Target for Raiser<'_> {
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
        let done = self.out.finish();
        self.failed.take().map_or(done, Err)
    }
}
