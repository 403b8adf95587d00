//! The model to a flame graph: a recording is kept, because a tree is known only at its end.

use std::collections::BTreeMap;

use traceloom_model::{Merge, Recording, SampleBatch, Scope, Unit};

use super::grow::GraphBuilder;
use super::tree::{Dimension, GraphColumn, GraphTree};
use super::{guance, write};
use crate::codec::WholeRecording;
use crate::points::{Language, profiles, value_names};
use crate::{Error, LeftOut, Output, RaiseOptions, Target};

/// What graph to write.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What nodes stand for.
    pub dimension: Dimension,
    /// The value to draw, by name; the recording's default without.
    pub value: Option<String>,
    /// The unit to write times or sizes in; the model's own without, so that sums stay exact.
    pub unit: Option<String>,
    /// The language of unit words: `zh`, else English.
    pub lang: Option<String>,
    /// The positional form.
    pub positional: bool,
    /// The recordings are flame graphs, whose root is a frame of theirs.
    pub came_as_graph: bool,
}

impl Options {
    /// Reads a variant: words separated by commas, `guance-array`, a dimension, `value=`, `unit=`, `lang=`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] for a word that means nothing.
    pub fn of_variant(variant: Option<&str>) -> Result<Self, Error> {
        let mut options = Self::default();
        for word in variant
            .unwrap_or("")
            .split(',')
            .filter(|word| !word.is_empty())
        {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let dimension = if key == "dimension" { value } else { word };
            let dimension = Dimension::ALL
                .into_iter()
                .find(|known| known.name() == dimension);
            match (key, dimension) {
                ("guance-array", _) => options.positional = true,
                ("value", _) => options.value = Some(value.to_owned()),
                ("unit", _) => options.unit = Some(value.to_owned()),
                ("lang", _) => options.lang = Some(value.to_owned()),
                (_, Some(dimension)) => options.dimension = dimension,
                _ => {
                    let known = "guance-array, method, line, package, class, thread, library, value=, unit=, lang=";
                    let text =
                        format!("flamegraph-json has no variant `{word}`; there are {known}");
                    return Err(Error::usage(text));
                }
            }
        }
        Ok(options)
    }

    /// Returns the names of the value asked for; none for the default one.
    fn wanted(&self) -> Vec<String> {
        let value = self.value.as_deref();
        value.map_or_else(Vec::new, |word| value_names(word, ""))
    }
}

/// Builds the document of a recording: of its samples, or of its spans when it has none.
///
/// # Errors
/// [`crate::ErrorKind::Usage`] when there is nothing to draw, no value of the name asked for, or no frame
/// that says anything in the dimension.
pub fn write_recording(recording: &Recording, options: &Options) -> Result<Vec<u8>, Error> {
    let language = Language::of_recording(recording);
    let mut tree = tree(recording, language, options)?;
    if options.came_as_graph {
        tree = tree.with_its_own_root();
    }
    if !tree.available.contains(&options.dimension) {
        let names: Vec<_> = tree.available.iter().map(|known| known.name()).collect();
        let text = format!(
            "no frame has a {}; the dimensions here are {}",
            options.dimension.name(),
            names.join(", ")
        );
        return Err(Error::usage(text));
    }
    Ok(document(recording, &tree, language, options))
}

fn document(
    recording: &Recording,
    tree: &GraphTree,
    language: Option<Language>,
    options: &Options,
) -> Vec<u8> {
    let mut out = Vec::new();
    if options.positional {
        guance::document(recording, tree, language, &mut out);
    } else {
        write::document(recording, tree, options, &mut out);
    }
    out
}

/// Returns true if there is nothing to draw, not even a profile without samples.
fn is_empty(recording: &Recording) -> bool {
    recording.spans.is_empty() && recording.samples.is_empty() && recording.profiles.is_empty()
}

fn tree(
    recording: &Recording,
    language: Option<Language>,
    options: &Options,
) -> Result<GraphTree, Error> {
    let mut builder = GraphBuilder::new(recording, options.dimension, language);
    if options.positional {
        builder = builder.with_leaves();
    }
    let name = profiles(recording, false)
        .into_iter()
        .map(|profile| profile.service);
    let name = name.into_iter().find(|service| !service.is_empty());
    let wanted = options.wanted();
    let (shown, written) = chosen(recording, &wanted, language);
    for (batch, column) in written {
        let scope = shown.as_ref().map_or(Scope::Own, |shown| shown.scope);
        builder.samples(batch, column, scope);
    }
    if let Some(shown) = shown {
        let own = shown.event.unwrap_or(&shown.name);
        return Ok(builder.finish(name.as_deref().unwrap_or(own), shown.unit));
    }
    if let Some(value) = &options.value {
        return Err(Error::usage(format!("there is no value `{value}`")));
    }
    if is_empty(recording) {
        return Err(Error::usage(
            "there is nothing to draw: no samples and no spans",
        ));
    }
    builder.spans();
    Ok(builder.finish(
        &name.unwrap_or_else(|| "wall".to_owned()),
        Unit::Nanoseconds,
    ))
}

/// Finds the value to draw, and its column in each batch that has it.
fn chosen<'r>(
    recording: &'r Recording,
    wanted: &[String],
    language: Option<Language>,
) -> (Option<GraphColumn>, Vec<(&'r SampleBatch, usize)>) {
    let batches = || recording.samples.iter().filter(|batch| !batch.is_empty());
    // As views do: CPU time where there is any, else the first.
    let cpu = batches().find(|batch| {
        let profile = recording.profile(batch.profile);
        profile.is_some_and(|profile| recording.shows_cpu(profile))
    });
    let cpu = cpu.filter(|_| wanted.is_empty());
    let mut shown =
        cpu.and_then(|batch| Some(GraphColumn::of(recording, batch, wanted, language)?.1));
    let mut written = Vec::new();
    for batch in batches() {
        let Some((column, found)) = GraphColumn::of(recording, batch, wanted, language) else {
            continue;
        };
        if *shown.get_or_insert_with(|| found.clone()) == found {
            written.push((batch, column));
        }
    }
    (shown, written)
}

/// Counts the samples of values that are not drawn, by name.
fn left_out(recording: &Recording, options: &Options) -> Vec<LeftOut> {
    let language = Language::of_recording(recording);
    let (_, written) = chosen(recording, &options.wanted(), language);
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for batch in &recording.samples {
        let Some(profile) = recording.profile(batch.profile) else {
            continue;
        };
        for (at, &id) in profile.value_types.iter().enumerate() {
            let is_written =
                |&(one, column): &(&SampleBatch, usize)| std::ptr::eq(one, batch) && column == at;
            // The others are told as inclusive ones.
            let row = recording.value_type(id);
            let row = row.filter(|row| row.scope == Scope::Own && row.merge == Merge::Sum);
            let (Some(row), false) = (row, written.iter().any(is_written)) else {
                continue;
            };
            let values = (0..batch.len()).filter_map(|row| batch.values(row).get(at));
            let count = values.filter(|value| **value != 0).count() as u64;
            if count > 0 {
                *left
                    .entry(recording.text(row.name).into_owned())
                    .or_default() += count;
            }
        }
    }
    let left = left.into_iter();
    left.map(|(name, count)| LeftOut { name, count }).collect()
}

pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let sources = &options.sources;
    let is_graph = |source: &&'static str| *source == super::FORMAT.name;
    let options = Options {
        came_as_graph: !sources.is_empty() && sources.iter().all(is_graph),
        ..Options::of_variant(options.variant.as_deref())?
    };
    Ok(Box::new(WholeRecording::new(move |recording| {
        let written = if is_empty(&recording) && options.value.is_none() {
            // A conversion of nothing is a graph of its root.
            let tree =
                GraphBuilder::new(&recording, options.dimension, None).finish("all", Unit::Count);
            document(&recording, &tree, None, &options)
        } else {
            write_recording(&recording, &options)?
        };
        output.write("", &written)?;
        Ok(left_out(&recording, &options))
    })))
}
