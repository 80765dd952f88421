use std::{
    future::Future,
    io,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use anyhow::Context as _;
use hq_core::{ClientReply, ClientRequest};
use jiff::tz::TimeZone;
use ratatui::crossterm::event::Event;
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    keys,
    model::{Action, Model, News, Sight, Source, Wish},
    screen::{Screen, events},
    source::{Past, live},
};
use crate::{context::Context, interrupt::Signals, output::now, server::unexpected};

/// What changed by itself is drawn that often at most.
const DRAW: Duration = Duration::from_millis(100);
/// And the clock that often at least.
const CLOCK: Duration = Duration::from_secs(1);
/// News that wait to be looked at; sources wait then.
const NEWS_MAX: usize = 64;

/// Shows what a server does until a key or a signal ends it.
pub(crate) async fn stream(context: &Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    let past = info.journal.as_ref().and_then(|path| Past::open(PathBuf::from(path)).ok());
    let past = past.filter(|past| past.server_uid() == Some(&info.server_uid));
    let source = Source::Live { has_past: past.is_some() };
    let model =
        Model::new(source, format!("server {}", info.server_uid), now(), TimeZone::system(), context.out.colors());
    let (wishes, news) = (watch::Sender::new(model.wish()), mpsc::channel(NEWS_MAX));
    let live = live(&server, wishes.subscribe(), news.0.clone());
    show(model, wishes, news, past, live).await
}

/// Shows what is in a journal until a key or a signal ends it.
pub(crate) async fn replay(journal: &Path, context: &Context) -> anyhow::Result<()> {
    let past = Past::open(journal.to_owned())?;
    let title = journal.file_name().unwrap_or(journal.as_os_str()).to_string_lossy().into_owned();
    let model = Model::new(Source::Replay, title, past.begin(), TimeZone::system(), context.out.colors());
    let (wishes, news) = (watch::Sender::new(model.wish()), mpsc::channel(NEWS_MAX));
    show(model, wishes, news, Some(past), std::future::pending()).await
}

/// The loop: what is seen and what keys ask for changes the model, the model is drawn, and what it wishes is looked for.
async fn show(
    mut model: Model,
    wishes: watch::Sender<Wish>,
    (sender, mut news): (mpsc::Sender<News>, mpsc::Receiver<News>),
    past: Option<Past>,
    live: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    // Before anything changes on the terminal: from here on no signal ends the program behind its back.
    let mut signals = Signals::all()?;
    let mut screen = Screen::open()?;
    if let Some(past) = past {
        past.spawn(Handle::current(), wishes.subscribe(), sender);
    }
    let mut events = events();
    let (mut ticks, mut live) = (interval(DRAW), pin!(live));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut is_live, mut is_fresh, mut drawn) = (true, true, Instant::now());
    while !model.over {
        wishes.send_if_modified(|wish| std::mem::replace(wish, model.wish()) != *wish);
        tokio::select! {
            signal = signals.nth(1) => anyhow::bail!("ended by {signal}"),
            event = events.recv() => {
                let event = event.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
                input(&mut model, &mut screen, event.context("cannot read from the terminal")?)?;
                // A key that is held down must not be ahead of what is drawn.
                while !model.over
                    && let Ok(event) = events.try_recv()
                {
                    input(&mut model, &mut screen, event.context("cannot read from the terminal")?)?;
                }
                screen.draw(&model)?;
                is_fresh = false;
            }
            Some(seen) = news.recv() => {
                model.see(seen);
                is_fresh = true;
            }
            ended = &mut live, if is_live => {
                ended?;
                is_live = false;
                let text = "The server has gone: this is what was seen last. q quits".to_owned();
                model.see(News { of: None, sight: Sight::Message(text) });
                is_fresh = true;
            }
            _ = ticks.tick() => {
                if is_live {
                    model.tick(now());
                }
                // Where nothing changes, time passes.
                if is_fresh || (is_live && drawn.elapsed() >= CLOCK) {
                    screen.draw(&model)?;
                    (is_fresh, drawn) = (false, Instant::now());
                }
            }
        }
    }
    Ok(())
}

fn input(model: &mut Model, screen: &mut Screen, event: Event) -> anyhow::Result<()> {
    match event {
        Event::Key(key) => {
            let Some(action) = keys::action(key) else { return Ok(()) };
            model.act(action);
            if action == Action::Redraw { screen.redraw() } else { Ok(()) }
        }
        // Another size is seen when it is drawn.
        _ => Ok(()),
    }
}
