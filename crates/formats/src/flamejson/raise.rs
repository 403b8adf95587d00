//! The model to a flame graph: a recording is kept, because a tree is known only at its end.

use traceloom_model::{Recording, Unit};

use super::tree::{Builder, Dimension, Tree, choose};
use super::{guance, write};
use crate::datakit::{Language, profiles};
use crate::kept::{Keep, Kept};
use crate::{Error, Output, RaiseOptions, Target};

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
}

/// Builds the document of a recording: of its samples, or of its spans when it has none.
///
/// # Errors
/// [`crate::ErrorKind::Usage`] when there is nothing to draw, or no value of the name asked for.
pub fn write_recording(recording: &Recording, options: &Options) -> Result<Vec<u8>, Error> {
    let language = Language::of_recording(recording);
    let tree = tree(recording, language, options)?;
    let mut out = Vec::new();
    if options.positional {
        guance::document(recording, &tree, language, &mut out);
    } else {
        write::document(recording, &tree, options, &mut out);
    }
    Ok(out)
}

fn tree(
    recording: &Recording,
    language: Option<Language>,
    options: &Options,
) -> Result<Tree, Error> {
    let mut builder = Builder::new(recording, options.dimension, language);
    let name = profiles(recording, false)
        .into_iter()
        .map(|profile| profile.service);
    let name = name.into_iter().find(|service| !service.is_empty());
    if let Some((id, scope, unit, value)) = choose(recording, options.value.as_deref()) {
        for batch in &recording.samples {
            let row = recording.profile(batch.profile);
            let column = row.and_then(|row| row.value_types.iter().position(|own| *own == id));
            if let Some(column) = column {
                builder.samples(batch, column, scope);
            }
        }
        return Ok(builder.finish(&name.unwrap_or(value), unit));
    }
    if let Some(value) = &options.value {
        return Err(Error::usage(format!("there is no value `{value}`")));
    }
    if recording.spans.is_empty() && recording.samples.is_empty() && recording.profiles.is_empty() {
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

pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let options = Options::of_variant(options.variant.as_deref())?;
    Ok(Box::new(Kept::new(Keep::Calls, move |recording| {
        output.write("", &write_recording(&recording, &options)?)
    })))
}
