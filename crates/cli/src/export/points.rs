//! `export --points`: the points of Datakit's profiles, derived from what was received.

use std::path::Path;

use traceloom_formats::{RaiseOptions, lineproto};
use traceloom_input::captures::posts::{DATAKIT, PostId};
use traceloom_input::captures::{Captures, DataFolder};
use traceloom_input::{Document, Input};
use traceloom_model::Notes;

use super::one_file::OneFile;
use super::{Exported, Options, find};
use crate::Outcome;
use crate::lowered::{documents, lower, mention};
use crate::numbers::things;
use crate::open::open;
use crate::streams::message;
use crate::usage::Usage;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let folder = DataFolder::open(&options.data)?;
    let named: Vec<_> = options.ids.iter().map(Exported::capture).collect();
    let captures = match named.as_slice() {
        [] => Captures::read(&folder)?,
        named => Captures::read_chosen(&folder, named)?,
    };
    let ids = chosen(options, &captures)?;
    drop(captures);
    let (mut n_profiles, mut output) = (0, OneFile::start(options)?);
    if !ids.is_empty() {
        let path = format!("{}#{}", options.data.display(), ids.join(","));
        let input = open(&path, &options.common)?;
        let mut notes: Vec<Notes> = Vec::new();
        // Where nothing is named, there may be nothing to show.
        let found = match options.ids.is_empty() {
            true => documents(&input).unwrap_or_default(),
            false => documents(&input)?,
        };
        for document in found {
            let facts = received_as(&input, &document).and_then(facts);
            notes.push(write(&document, facts, options, &mut output)?);
            n_profiles += 1;
        }
        mention(&input, &notes);
    }
    output.finish()?;
    if options.output != Path::new("-") {
        let profiles = things(n_profiles, "profile", "profiles");
        message!("points of {profiles} in {}", options.output.display());
    }
    Ok(Outcome::Done)
}

/// Returns what is meant, as a path names it: all captures of Datakit's profiles unless some are named.
fn chosen(options: &Options, captures: &Captures) -> anyhow::Result<Vec<String>> {
    let is_datakit = |protocol: Option<_>| {
        protocol.is_some_and(|rules: &traceloom_formats::protocol::CaptureRules| {
            rules.number == DATAKIT.number
        })
    };
    if options.ids.is_empty() {
        let all = captures.list.iter();
        let all = all.filter(|capture| is_datakit(capture.protocol) && !capture.parts.is_empty());
        return Ok(all.map(|capture| capture.id.to_string()).collect());
    }
    let mut ids = Vec::new();
    for exported in &options.ids {
        let capture = find(captures, exported.capture(), &options.data)?;
        if !is_datakit(capture.protocol) {
            let text = format!(
                "capture {} holds no profiles of Datakit's agents",
                capture.id
            );
            return Err(Usage(text).into());
        }
        ids.push(match exported {
            Exported::Part(capture, name) => {
                let number = PostId::number_of(name);
                let capture = *capture;
                let post = number.map(|number| PostId { capture, number });
                post.map_or_else(|| capture.to_string(), |post| post.to_string())
            }
            other => other.to_string(),
        });
    }
    Ok(ids)
}

/// Returns the name of the part that a recording was received as: that around its own parts.
fn received_as<'i>(input: &'i Input, document: &Document<'i>) -> Option<&'i str> {
    let (_, mut part) = document.members().next()?;
    while let Some(around) = part.inside.and_then(|at| input.parts().get(at)) {
        part = around;
    }
    Some(&part.part.name)
}

/// Writes the points of one profile.
fn write(
    document: &Document<'_>,
    facts: Option<String>,
    options: &Options,
    output: &mut OneFile,
) -> anyhow::Result<Notes> {
    let raise = RaiseOptions {
        variant: Some(format!("with-metrics{}", facts.unwrap_or_default())),
        sources: document
            .format()
            .map(|format| format.name)
            .into_iter()
            .collect(),
    };
    let make = lineproto::FORMAT.raise;
    let make = make.ok_or_else(|| anyhow::anyhow!("line protocol is not written"))?;
    let mut target = make(&raise, output)?;
    let notes = lower(
        document,
        &options.common.lower_options()?,
        &options.common,
        target.as_mut(),
    )?;
    target.finish()?;
    Ok(notes)
}

/// Returns what points say of the post that a part is of: its id, and the part that it was received as.
fn facts(part: &str) -> Option<String> {
    let (capture, rest) = part.split_once('/')?;
    let capture = capture.parse().ok()?;
    let number = PostId::number_of(rest)?;
    let post = PostId { capture, number };
    Some(format!(
        ",profile_id={post},oss_path={capture}/{}/{number}.http",
        DATAKIT.name
    ))
}
