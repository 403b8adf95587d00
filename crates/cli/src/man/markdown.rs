//! Every command with its arguments as one page of Markdown.

use std::fmt::{Error, Write};

use clap::{Arg, Command};

/// Returns the page.
pub(super) fn page(mut program: Command) -> Result<String, Error> {
    program.build();
    let mut out = String::from("# Commands\n\nAs `traceloom COMMAND --help` prints them.\n");
    for command in program.get_subcommands() {
        if command.get_name() != "help" && !command.is_hide_set() {
            section(command, 2, &mut out)?;
        }
    }
    Ok(out)
}

fn section(command: &Command, level: usize, out: &mut String) -> Result<(), Error> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    writeln!(out, "\n{} {name}\n", "#".repeat(level))?;
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        writeln!(out, "{about}\n")?;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    writeln!(out, "```text\n{usage}\n```")?;
    let shown = || {
        command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
    };
    if shown().next().is_some() {
        writeln!(out, "\n| argument | what it does |\n|---|---|")?;
        for arg in shown() {
            writeln!(out, "| {} | {} |", written(arg), cell(&help(arg)))?;
        }
    }
    if let Some(examples) = command.get_after_help() {
        writeln!(out, "\n```text\n{examples}\n```")?;
    }
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            section(inner, level + 1, out)?;
        }
    }
    Ok(())
}

/// Returns how an argument is typed.
fn written(arg: &Arg) -> String {
    let mut names = Vec::new();
    names.extend(arg.get_short().map(|short| format!("-{short}")));
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let values = arg.get_value_names().unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let values: Vec<String> = match (takes, names.is_empty()) {
        (false, _) => Vec::new(),
        (true, true) => values.iter().map(|name| format!("[{name}]")).collect(),
        (true, false) => values.iter().map(|name| format!("<{name}>")).collect(),
    };
    let typed = [names.join(", "), values.join(" ")].join(" ");
    format!("`{}`", cell(typed.trim()))
}

fn help(arg: &Arg) -> String {
    let text = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = text.map(ToString::to_string).unwrap_or_default();
    let defaults = arg.get_default_values();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let defaults: Vec<_> = defaults
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        text = format!("{text} (default: {})", defaults.join(" "));
    }
    text
}

/// Returns text as one cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
