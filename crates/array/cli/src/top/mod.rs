//! `windlass top`: what the array and its hosts do now, once a second.
//!
//! [`State`] knows what was measured and what the user wants to see; [`screen`] makes lines of it. Both do no I/O.

mod screen;
mod state;

use crate::client::Client;
use crate::error::CliError;
use crate::output::{Format, Output};
use api::{Sample, Session, Status};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::text::Text;
use state::{Action, State};
use std::io::IsTerminal;
use std::time::Duration;
use tokio::sync::mpsc;

/// Most volumes and shares that are asked for.
const MOST_BUSIEST: u32 = 60;
/// Time between two looks at the array.
const INTERVAL: Duration = Duration::from_secs(1);
/// Looks between two of the state of the array.
const STATUS_EVERY: u32 = 5;
/// Longest wait of the thread that reads keys before it looks whether it is still needed.
const KEY_WAIT: Duration = Duration::from_millis(100);
/// Columns and lines of the text of `--once`.
const PAPER: (u16, u16) = (100, 40);

/// What is listed below the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum View {
    /// The busiest volumes and shares of the last minute
    #[default]
    Volumes,
    /// Offload commands, by primitive
    Primitives,
    /// Hosts with sessions
    Hosts,
}

/// Arguments of `windlass top`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// What to list: volumes, primitives, hosts
    #[arg(value_enum, default_value_t = View::Volumes, hide_possible_values = true)]
    pub view: View,
    /// Print one look and end; with -o json, as data
    #[arg(long)]
    pub once: bool,
}

pub(crate) async fn run(
    Arguments { view, once }: &Arguments,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let mut state = State::new(*view);
    match (once, output.format()) {
        (true, Format::Json | Format::Yaml) => output.document(&sample(client).await?),
        (true, _) => {
            look(client, &mut state, true).await?;
            if *view == View::Hosts {
                // Rates of hosts are differences.
                tokio::time::sleep(INTERVAL).await;
                look(client, &mut state, false).await?;
            }
            let mut lines = screen::lines(&state, PAPER.0, PAPER.1);
            // Nobody presses keys on paper.
            lines.pop();
            let text: String = lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect();
            output.text(&(text.trim_end().to_owned() + "\n"))
        }
        (false, Format::Table) if std::io::stdout().is_terminal() => {
            // What cannot be reached is an error before the screen changes.
            look(client, &mut state, true).await?;
            watch(client, &mut state).await
        }
        (false, _) => Err(CliError::usage("top needs a terminal; --once prints one look".to_owned())),
    }
}

async fn sample(client: &Client) -> Result<Sample, CliError> {
    client.get(&format!("/api/v1/samples/latest?busiest={MOST_BUSIEST}")).await
}

/// Asks the array for what the state shows; also for its health, if that is wanted.
async fn look(client: &Client, state: &mut State, status: bool) -> Result<(), CliError> {
    state.sampled(sample(client).await?);
    if status {
        state.told(client.get::<Status>("/api/v1/system").await?);
    }
    if state.view() == View::Hosts {
        state.sessions(client.long_list::<Session>("/api/v1/sessions").await?, tokio::time::Instant::now().into_std());
    }
    Ok(())
}

/// Shows the state on the terminal until the user ends it.
async fn watch(client: &Client, state: &mut State) -> Result<(), CliError> {
    let mut terminal = ratatui::try_init().map_err(CliError::from)?;
    let result = follow(client, state, &mut terminal).await;
    ratatui::restore();
    result
}

async fn follow(client: &Client, state: &mut State, terminal: &mut ratatui::DefaultTerminal) -> Result<(), CliError> {
    let (sender, mut keys) = mpsc::channel(16);
    let reader = std::thread::spawn(move || read_keys(&sender));
    let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut looks: u32 = 0;
    let result = loop {
        let drawn = terminal.draw(|frame| {
            let area = frame.area();
            frame.render_widget(Text::from(screen::lines(state, area.width, area.height)), area);
        });
        if let Err(error) = drawn {
            break Err(CliError::from(error));
        }
        tokio::select! {
            event = keys.recv() => match event {
                None => break Ok(()),
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if state.pressed(key) == Action::Quit {
                        break Ok(());
                    }
                }
                Some(_resized) => {}
            },
            _ = ended.recv() => break Ok(()),
            _ = ticks.tick(), if !state.is_paused() => {
                looks = looks.wrapping_add(1);
                let failure = look(client, state, looks.is_multiple_of(STATUS_EVERY)).await.err();
                state.failed(failure.map(|error| error.to_string()));
            }
        }
    };
    drop(keys);
    let _ended = reader.join();
    result
}

/// Sends keys until nobody takes them any more.
fn read_keys(sender: &mpsc::Sender<Event>) {
    while !sender.is_closed() {
        let read = match event::poll(KEY_WAIT) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let Ok(event) = read else { return };
        if sender.blocking_send(event).is_err() {
            return;
        }
    }
}
