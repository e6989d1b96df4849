//! Program that `cargo xtask sim` runs to disable rules of the engine. It is built with the feature
//! `mutations`, and has few dependencies.

use clap::Parser;
use std::process::ExitCode;

/// The real engine on a simulated disk with crashes, one run for each seed.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: simulate::Options,
}

fn main() -> ExitCode {
    match simulate::run(&Command::parse().options) {
        Ok(tally) if tally.failed == 0 => ExitCode::SUCCESS,
        Ok(tally) => {
            println!("{tally}");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
