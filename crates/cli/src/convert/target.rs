//! What is written, and where.

use std::io::Write;
use std::path::Path;

use traceloom_formats::{FORMATS, Format};

use super::JobFlags;
use crate::Outcome;
use crate::streams::{message, stdout};
use crate::usage::{Usage, nearest};

pub(super) fn list() -> anyhow::Result<Outcome> {
    let mut out = stdout();
    for format in FORMATS.iter().filter(|format| format.raise.is_some()) {
        let extension = format
            .extensions
            .first()
            .map_or_else(String::new, |e| format!(".{e}"));
        writeln!(out, "{:18} {extension:12} {}", format.name, format.title)?;
        for variant in format.holds.variants() {
            writeln!(out, "  :{:28} {}", variant.name, variant.about)?;
        }
    }
    Ok(Outcome::Done)
}

/// Tells the output from the inputs.
pub(crate) fn inputs_and_output<'o>(
    paths: &'o [String],
    job: &'o JobFlags,
    usage: &str,
) -> anyhow::Result<(&'o [String], &'o str)> {
    let (inputs, output) = match (&job.output, paths) {
        (Some(output), inputs @ [_, ..]) => (inputs, output),
        (None, [inputs @ .., output]) if !inputs.is_empty() => (inputs, output),
        _ => return Err(Usage(usage.to_owned()).into()),
    };
    if output == "-" && job.json {
        return Err(Usage("--json and an output of - both want standard output".to_owned()).into());
    }
    Ok((inputs, output))
}

/// Chooses the format to write by `--to`, else by the output's extension.
pub(crate) fn target(
    to: Option<&str>,
    output: &str,
) -> anyhow::Result<(&'static Format, Option<String>)> {
    let writable = || {
        FORMATS
            .iter()
            .copied()
            .filter(|format| format.raise.is_some())
    };
    if let Some(to) = to {
        let (name, variant) = to.split_once(':').map_or((to, None), |(name, variant)| {
            (name, Some(variant.to_owned()))
        });
        if let Some(format) = writable().find(|format| format.name == name) {
            return Ok((format, variant));
        }
        let known = FORMATS.iter().any(|format| format.name == name);
        let near = nearest(name, writable().map(|format| format.name));
        let reason = match near {
            _ if known => format!("`{name}` is read, not written; `--to list` prints the targets"),
            Some(near) => format!("there is no target `{name}`; did you mean `{near}`?"),
            None => format!("there is no target `{name}`; `--to list` prints them"),
        };
        return Err(Usage(reason).into());
    }
    let plain = output.strip_suffix(".gz").unwrap_or(output);
    // The longest extension says most; among equals the format whose own it is comes first, and of generations of
    // one format, which the registry has from the oldest on, the newest.
    let fit = |format: &'static Format| {
        let fits = |extension: &&str| plain.ends_with(&format!(".{extension}"));
        let found = format.extensions.iter().position(fits)?;
        let length = format.extensions.get(found)?.len();
        Some((std::cmp::Reverse(length), found))
    };
    let fitting = writable().filter_map(|format| Some((fit(format)?, format)));
    let fitting: Vec<_> = fitting.collect();
    let found = fitting
        .into_iter()
        .rev()
        .min_by_key(|(fit, _)| *fit)
        .map(|(_, format)| format);
    let reason = || {
        Usage(format!(
            "no target has the extension of `{output}`; choose one with --to"
        ))
    };
    found
        .map(|format| (format, None))
        .ok_or_else(|| reason().into())
}

/// Names a file in the folder that was given as output, where the target is one file.
pub(super) fn inside(inputs: &[String], output: &str, target: &Format) -> Option<String> {
    if target.is_folder() || !Path::new(output).is_dir() {
        return None;
    }
    let input = inputs.first().filter(|input| *input != "-")?;
    let mut name = Path::new(input).file_name()?.to_str()?;
    for wrapper in [".gz", ".zst", ".lz4", ".zip"] {
        name = name.strip_suffix(wrapper).unwrap_or(name);
    }
    let known = FORMATS.iter().flat_map(|format| format.extensions);
    let ending = known.filter_map(|extension| name.strip_suffix(extension)?.strip_suffix('.'));
    let stem = ending
        .filter(|stem| !stem.is_empty())
        .min_by_key(|stem| stem.len());
    let stem = stem.unwrap_or(name);
    let extension = target.extensions.first()?;
    let path = Path::new(output).join(format!("{stem}.{extension}"));
    Some(path.to_str()?.to_owned())
}

/// Warns when the output's name says another format than it will hold.
pub(super) fn contradiction(output: &str, target: &Format) {
    let plain = output.strip_suffix(".gz").unwrap_or(output);
    let says = |format: &Format| {
        let mut extensions = format.extensions.iter();
        extensions.any(|extension| {
            plain
                .strip_suffix(extension)
                .is_some_and(|stem| stem.ends_with('.'))
        })
    };
    if says(target) {
        return;
    }
    if let Some(other) = FORMATS.iter().find(|format| says(format)) {
        let extension = target.extensions.first();
        let extension = extension.map_or_else(String::new, |ending| {
            format!("; its files end in .{ending}")
        });
        message!(
            "warning: {output} is named like {}, and will hold {}{extension}",
            other.name,
            target.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_chooses_the_longest_and_the_newest() {
        for (output, name) in [
            ("out.bin", "zorka-c"),
            ("out.json", "chrome"),
            ("out.speedscope.json.gz", "speedscope"),
            ("out.firefox.json", "firefox"),
            ("out.trcxml", "tptp-xml"),
        ] {
            let (format, _) = target(None, output).expect("an extension of a target");
            assert_eq!(format.name, name, "{output}");
        }
        assert!(target(None, "out.unknown").is_err());
    }
}
