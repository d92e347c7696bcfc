//! Families of commands whose arguments are made only when one of them is called.
//!
//! Making the arguments of all commands takes longer than most of them need for their work. What
//! has to know all commands (help, completions, manual pages) makes them all, as ever.

use std::cell::Cell;
use std::ops::Deref;

use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

thread_local! {
    static IS_LAZY: Cell<bool> = const { Cell::new(false) };
}

/// Makes a command line in which each family is finished when it is called.
pub(crate) fn lazily(make: impl FnOnce() -> Command) -> Command {
    IS_LAZY.set(true);
    let made = make();
    IS_LAZY.set(false);
    made
}

/// The commands of a family.
#[derive(Debug)]
pub(crate) struct Family<T>(T);

impl<T> Deref for Family<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Subcommand> Subcommand for Family<T> {
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

impl<T: FromArgMatches> FromArgMatches for Family<T> {
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
