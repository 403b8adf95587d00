//! Flags of the command that is typed, without those of all others.

use std::ops::Deref;
use std::sync::OnceLock;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::args::COMMANDS;

/// Commands that print what all of them take.
const ABOUT_ALL: [&str; 2] = ["completions", "man"];

/// Options whose flags are declared unless another command is typed: declaring those of all commands took half of the
/// instructions of a short run.
pub(crate) struct Declared<T>(T);

impl<T> Deref for Declared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Declared<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Declared<T> {
    fn augment_args(command: Command) -> Command {
        match typed().is_none_or(|typed| typed == command.get_name()) {
            true => T::augment_args(command),
            false => command,
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Returns the command that is the first word typed; none where flags of others may be asked for.
fn typed() -> Option<&'static str> {
    static TYPED: OnceLock<Option<&'static str>> = OnceLock::new();
    *TYPED.get_or_init(|| {
        let first = std::env::args_os().nth(1)?;
        let is_first = |name: &&&str| first == **name && !ABOUT_ALL.contains(name);
        COMMANDS.iter().find(is_first).copied()
    })
}
