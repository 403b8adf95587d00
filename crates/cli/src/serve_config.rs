//! `serve --config FILE`: settings of a collector in a file. A flag comes before the environment, and that before the
//! file.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, Command, Parser};
use toml::Value;

use crate::args::reads_nothing;
use crate::serve_pull::PULL;
use crate::usage::{Usage, nearest};

/// The beginning of names in the environment.
const PREFIX: &str = "TRACELOOM_SERVE_";

/// Gives the flags of `serve` their names in the environment.
pub(crate) fn with_environment(arg: Arg) -> Arg {
    let arg = reads_nothing(arg);
    match arg.get_long().filter(|_| is_setting(&arg)).map(variable) {
        Some(name) => arg.env(name).hide_env(true),
        None => arg,
    }
}

/// Reads the command line once more, with the settings of a file.
pub(crate) fn read<Args: Parser>(path: &Path) -> anyhow::Result<Args> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let command = Args::command();
    let flags = flags(&text, &command, &|name| std::env::var_os(name).is_some());
    let flags = flags.map_err(|reason| Usage(format!("{}: {reason}", path.display())))?;
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let typed = args.iter().position(|arg| arg == "serve");
    let behind = typed.map_or(args.len(), |at| at + 1);
    // Flags that are typed come later, and replace these.
    args.splice(behind..behind, flags.into_iter().map(OsString::from));
    Args::try_parse_from(args).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        Usage(format!("{}: {reason}", path.display())).into()
    })
}

/// Returns `true` for what a file may set.
fn is_setting(arg: &Arg) -> bool {
    let one_time = ["config", "check-config", "help"];
    !arg.is_global_set() && arg.get_long().is_some_and(|long| !one_time.contains(&long))
}

fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.replace('-', "_").to_uppercase())
}

/// Returns the settings of a file as flags, but for those that the environment has.
fn flags(
    text: &str,
    command: &Command,
    in_environment: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| {
            text.as_bytes()[..span.start.min(text.len())]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count()
                + 1
        });
        format!("line {line}: {}", error.message())
    })?;
    let serve = command.find_subcommand("serve").into_iter();
    let known: Vec<&Arg> = serve
        .flat_map(Command::get_arguments)
        .filter(|arg| is_setting(arg))
        .collect();
    let mut flags = Vec::new();
    // Programs to pull from are no flags.
    let settings = table.iter().filter(|(key, _)| *key != PULL);
    for (key, value) in settings {
        let Some(arg) = known.iter().find(|arg| arg.get_long() == Some(key)) else {
            let names = known.iter().filter_map(|arg| arg.get_long());
            let hint = nearest(key, names).map(|near| format!("; did you mean `{near}`?"));
            return Err(format!(
                "there is no setting `{key}`{}",
                hint.unwrap_or_default()
            ));
        };
        if in_environment(&variable(key)) {
            continue;
        }
        match (arg.get_action(), value) {
            (ArgAction::SetTrue, Value::Boolean(true)) => flags.push(format!("--{key}")),
            (ArgAction::SetTrue, Value::Boolean(false)) => {}
            (ArgAction::SetTrue, _) => return Err(format!("`{key}` is true or false")),
            (ArgAction::Append, Value::Array(values)) => {
                for value in values {
                    flags.push(format!("--{key}={}", scalar(key, value)?));
                }
            }
            (_, value) => flags.push(format!("--{key}={}", scalar(key, value)?)),
        }
    }
    Ok(flags)
}

fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        _ => Err(format!("`{key}` is a text or a whole number")),
    }
}
