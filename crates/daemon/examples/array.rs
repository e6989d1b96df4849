use clap::Parser;
#[derive(Parser)]
struct Cli { #[command(flatten)] options: daemon::ServeOptions }
fn main() {
    if let Err(e) = daemon::serve(Cli::parse().options, daemon::run_reactor) { eprintln!("error: {e}"); std::process::exit(1); }
}
