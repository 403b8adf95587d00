//! The model to a stream of one generation: definitions before the trace that needs them.
//!
//! Spans come children first and are written parents first, so a trace is kept until its root is there:
//! memory follows the largest trace, not the input.

use std::collections::HashMap;

use traceloom_model::{
    Clock, Definitions, Flow, Forgotten, LinkBatch, Note, Order as SpanOrder, Recording, Sink,
    SpanBatch, SpanId, StringId,
};

use super::dialect::Dialect;
use super::encode::{Encoder, Node};
use crate::{Error, Output, RaiseOptions, Target};

/// A writer of traces.
pub(crate) struct Raiser<'o> {
    output: &'o mut dyn Output,
    encoder: Encoder,
    words: Recording,
    /// Finished spans by the parent they wait for.
    waiting: HashMap<SpanId, Vec<Node>>,
    /// Roots that wait for the end, where children may come after their parent.
    roots: Vec<Node>,
    forgotten: Forgotten,
    nested: bool,
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
        output,
        encoder: Encoder::new(*dialect),
        words: Recording::default(),
        waiting: HashMap::new(),
        roots: Vec::new(),
        forgotten: Forgotten::default(),
        nested: true,
        failed: None,
    }))
}

impl Raiser<'_> {
    fn write_tree(&mut self, root: Node) -> Flow {
        let written = self.encoder.tree(root, &mut self.waiting, &self.words);
        let written = written.and_then(|()| {
            let (definitions, trace) = self.encoder.take();
            self.output.write("", &definitions)?;
            self.output.write("", &trace)
        });
        match written {
            Ok(()) => Flow::Continue(()),
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
        self.nested = order == SpanOrder::Nested;
        self.words.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.words.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.iter() {
            let node = Node::of(&row);
            match row.parent {
                Some(parent) => self.waiting.entry(parent).or_default().push(node),
                None if self.nested => self.write_tree(node)?,
                None => self.roots.push(node),
            }
        }
        Flow::Continue(())
    }

    fn links(&mut self, _batch: LinkBatch) -> Flow {
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        let waiting = self.waiting.values().flatten().chain(&self.roots);
        let held = waiting.flat_map(Node::values);
        let free = self.forgotten.free(strings, held);
        self.words.drop_strings(&free);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Raiser<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let mut roots = std::mem::take(&mut self.roots);
        roots.sort_by_key(|node| (node.start, node.id));
        for root in roots {
            if self.write_tree(root).is_break() {
                break;
            }
        }
        // Spans whose parent never came: each is the root of what it encloses.
        while self.failed.is_none() && !self.waiting.is_empty() {
            let named: std::collections::HashSet<SpanId> = self
                .waiting
                .values()
                .flatten()
                .map(|node| node.id)
                .collect();
            let mut tops: Vec<SpanId> = self
                .waiting
                .keys()
                .copied()
                .filter(|parent| !named.contains(parent))
                .collect();
            tops.sort_unstable();
            if tops.is_empty() {
                // Parents in a circle: no recorder makes them, and no tree can hold them.
                break;
            }
            for top in tops {
                for node in self.waiting.remove(&top).unwrap_or_default() {
                    if self.write_tree(node).is_break() {
                        break;
                    }
                }
            }
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
