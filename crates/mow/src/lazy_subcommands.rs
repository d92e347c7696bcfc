//! Subcommands whose clap definitions are built only when their parent command is called.
//!
//! Building the definitions of all commands takes longer than most commands need for their work.
//! Help, completions and manual pages need all of them, and build them at once.

use std::cell::Cell;
use std::ops::Deref;

use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

thread_local! {
    static IS_LAZY: Cell<bool> = const { Cell::new(false) };
}

/// Builds a command line whose [`LazySubcommands`] are built when their parent is called.
pub(crate) fn build_lazily(build: impl FnOnce() -> Command) -> Command {
    IS_LAZY.set(true);
    let command = build();
    IS_LAZY.set(false);
    command
}

/// Subcommands that are built on demand; dereferences to the parsed subcommand.
#[derive(Debug)]
pub(crate) struct LazySubcommands<T>(T);

impl<T> Deref for LazySubcommands<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Subcommand> Subcommand for LazySubcommands<T> {
    fn augment_subcommands(command: Command) -> Command {
        if IS_LAZY.get() {
            command.defer(T::augment_subcommands)
        } else {
            T::augment_subcommands(command)
        }
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

impl<T: FromArgMatches> FromArgMatches for LazySubcommands<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
