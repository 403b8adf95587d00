//! `flame`: a flame graph as SVG or HTML.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use traceloom_analysis::flame::{Picture, html, left_out, svg};
use traceloom_analysis::{CallTree, Dimension};

use crate::Outcome;
use crate::categories::CategoryFlags;
use crate::convert;
use crate::dimension::with_lines;
use crate::graph::GraphFlags;
use crate::groups::GroupFlags;
use crate::output_file::{self, OutputFileFlags};
use crate::over_time;
use crate::pick::Pick;
use crate::select::SandwichFlags;
use crate::streams::message;
use crate::trees::{TreeFlags, read_lines};
use crate::usage::Usage;

/// Draw a flame graph.
#[derive(Args)]
#[command(
    after_help = "An SVG zooms and searches in a browser; HTML holds larger graphs and needs no network either.\n\n\
    Examples:\n  \
    traceloom flame dump/\n  \
    traceloom flame dump/ -o checkout.html --filter checkout\n  \
    traceloom flame cpu.pprof -o - > cpu.svg\n  \
    traceloom flame app.jfr -o app.json --value alloc --dimension package"
)]
pub(crate) struct Options {
    #[command(flatten)]
    tree: TreeFlags,
    /// File to write, `.svg`, `.html` or, for Datakit's flame graph, `.json`; `-` writes SVG to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// With `-o -`: write HTML to standard output.
    #[arg(long, requires = "output")]
    html: bool,
    /// With `-o -`: write Datakit's flame graph to standard output.
    #[arg(long, requires = "output", conflicts_with = "html")]
    json: bool,
    #[command(flatten)]
    drawn: OutputFileFlags,
    /// Callers at the bottom.
    #[arg(long)]
    upwards: bool,
    /// Print full names instead of shortened ones.
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    categories: CategoryFlags,
    #[command(flatten)]
    graph: GraphFlags,
    #[command(flatten)]
    groups: GroupFlags,
    #[command(flatten)]
    sandwich: SandwichFlags,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let is_json = |name: &&String| name.ends_with(".json") || (options.json && *name == "-");
    if let Some(output) = options.output.as_ref().filter(is_json) {
        return json(options, output);
    }
    if !options.graph.is_plain() {
        let reason = "--unit and --lang are for flame graph JSON: end -o in .json";
        return Err(Usage(reason.to_owned()).into());
    }
    let dimension = options.graph.of_picture();
    let first = options.tree.read.paths.first().context("an input")?;
    let name = output_file::name_of(first);
    let output = options
        .output
        .clone()
        .unwrap_or_else(|| format!("{name}.svg"));
    let extension = Path::new(&output).extension();
    let is_page = match extension.and_then(|extension| extension.to_str()) {
        _ if output == "-" => options.html,
        Some("svg") => false,
        Some("html" | "htm") => true,
        _ => {
            return Err(Usage(format!("-o {output}: end the name in .svg, .html or .json")).into());
        }
    };
    output_file::check(&output, options.drawn.force)?;
    let groups = options.graph.groups(&options.groups)?;
    let mut flags = options.tree.grouped(&groups);
    // A page holds lines too, and says where there are none.
    flags.lines = is_page || dimension == Dimension::Line;
    flags.drawn = dimension == Dimension::Method && options.sandwich.is_empty();
    let mut inputs = flags.read.inputs();
    let [trees, lines] = read_lines(&flags, &mut inputs)?;
    if trees.iter().all(CallTree::is_empty) {
        anyhow::bail!("{output} is not written: there is nothing to draw");
    }
    let trees = options.sandwich.cut(trees)?;
    let lines = match lines.is_empty() {
        true => lines,
        false => options.sandwich.cut(lines)?,
    };
    let categories = options.categories.rules()?;
    let title = options.drawn.title.clone().unwrap_or_else(|| name.clone());
    let doubt = inputs.doubts.join("; ");
    trees
        .iter()
        .filter_map(left_out)
        .for_each(|said| message!("{said}"));
    // What is in no frame has no time.
    let is_whole = trees.iter().all(|tree| tree.rest.is_empty());
    let over_time = match is_page && is_whole {
        true => over_time::read(&flags)?,
        false => Vec::new(),
    };
    let picture = Picture {
        title: &title,
        doubt: &doubt,
        upwards: options.upwards,
        short_names: !options.wide,
        changes: None,
        other: None,
        categories: Some(&categories),
        dimension,
        lines: &lines,
        over_time: &over_time,
    };
    if is_page {
        // A page holds the trees of all values, and switches.
        let text = html(&trees, &picture);
        output_file::write(Path::new(&output), options.drawn.force, &text)?;
        return Ok(inputs.outcome());
    }
    let trees = match dimension {
        Dimension::Line => with_lines(trees, &lines),
        Dimension::Method => trees,
        dimension => trees.iter().map(|tree| tree.by(dimension)).collect(),
    };
    for (number, tree) in trees.iter().enumerate() {
        let title = if trees.len() > 1 {
            format!("{title}: {}", tree.measure.name)
        } else {
            title.clone()
        };
        let title = title.as_str();
        let text = svg(tree, &Picture { title, ..picture });
        if output == "-" {
            output_file::write(Path::new("-"), false, &text)?;
            break;
        }
        let path = numbered(&output, number, &tree.measure.name);
        output_file::write(&path, options.drawn.force, &text)?;
    }
    Ok(inputs.outcome())
}

/// Flame graph JSON is written from the recording itself: frames have packages and threads there, which the
/// pictures' trees do not.
fn json(options: &Options, output: &str) -> anyhow::Result<Outcome> {
    let tree = &options.tree;
    let plain = tree.frames.is_empty() && tree.adjust.is_empty() && !options.upwards;
    if !plain || tree.lanes || !(options.sandwich.is_empty() && options.groups.is_empty()) {
        let reason = "flame graph JSON holds every frame: --focus, --ignore, --hide, --async, --adjust, --by, --upwards, --callers-of, --callees-of and --usages are for .svg and .html";
        return Err(Usage(reason.to_owned()).into());
    }
    let pick = Pick {
        calls: tree.calls.clone(),
        methods: tree.read.methods.clone(),
        time: tree.read.time.clone(),
        value: tree.value.clone(),
        calls_without_samples: true,
        ..Pick::default()
    };
    convert::run(&convert::Options::graph(
        tree.read.paths.clone(),
        (output, options.drawn.force),
        pick,
        options.graph.clone(),
        tree.read.common.clone(),
    ))
}

/// The file of the first tree is the one asked for; others carry their measure's name.
fn numbered(output: &str, number: usize, measure: &str) -> PathBuf {
    let path = Path::new(output);
    if number == 0 {
        return path.to_owned();
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy())
        .unwrap_or_default();
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy())
        .unwrap_or_default();
    let safe: String = measure
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    path.with_file_name(format!("{stem}-{safe}.{extension}"))
}
