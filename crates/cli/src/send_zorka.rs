//! `send --to zorka://…`: posts symbols and traces as Zorka's agents post them.

use std::collections::BTreeMap;
use std::path::Path;

use traceloom_formats::zorka::Request;
use traceloom_formats::{RaiseOptions, Source as _, by_name};
use traceloom_server::{
    AgentGeneration, AgentOptions, AgentPost, AgentSession, AgentsSent, PostOptions, Stop,
    send_as_agents,
};

use crate::Outcome;
use crate::acknowledged::{answer_times, save_ledger};
use crate::args::Common;
use crate::numbers::{size, things};
use crate::open::open;
use crate::sendable::bytes_of;
use crate::streams::message;
use crate::usage::Usage;

/// What a collector keeps of agents.
const REQUESTS: &str = "zorka-requests";

/// How much is sent.
pub(crate) struct AgentLoad<'l> {
    pub(crate) agents: u32,
    pub(crate) times: Option<u64>,
    pub(crate) rate: Option<u64>,
    pub(crate) ledger: Option<&'l Path>,
    pub(crate) force: bool,
}

pub(crate) fn run(
    path: &str,
    to: PostOptions,
    load: &AgentLoad<'_>,
    common: &Common,
) -> anyhow::Result<Outcome> {
    let sessions = sessions(path, common)?;
    if let Some(ledger) = load.ledger {
        traceloom_input::save::check(ledger, false, load.force)?;
    }
    let stop = Stop::default();
    let asked = stop.clone();
    crate::interrupt::stop_with(move || asked.now());
    let options = AgentOptions {
        to,
        agents: load.agents,
        times: load.times,
        rate: load.rate,
    };
    let AgentsSent {
        ledger,
        traces,
        posts,
        bytes,
        again,
        failures,
        answers,
    } = send_as_agents(&options, sessions, &stop)?;
    if let Some(path) = load.ledger {
        save_ledger(path, &ledger, load.force)?;
    }
    message!(
        "{}: {} acknowledged, {} in {}, {} sent again",
        things(load.agents.into(), "agent", "agents"),
        things(traces, "trace", "traces"),
        size(bytes),
        things(posts, "post", "posts"),
        things(again, "time", "times"),
    );
    if let Some(times) = answer_times("post", &answers) {
        message!("{times}");
    }
    for failure in failures.iter().take(10) {
        message!("{failure}");
    }
    Ok(match failures.is_empty() {
        true => Outcome::Done,
        false => Outcome::Failed,
    })
}

/// Returns what is posted, by sessions. What is no posts of agents is written as such first.
fn sessions(path: &str, common: &Common) -> anyhow::Result<Vec<AgentSession>> {
    let input = open(path, common)?;
    let mut sessions = Vec::new();
    for document in input.documents() {
        let format = document.format();
        if format.is_some_and(|format| format.name == REQUESTS) {
            for at in 0..document.parts().len() {
                add(&mut sessions, path, &bytes_of(&document, at)?)?;
            }
            continue;
        }
        let Some(format) = format.filter(|format| format.lower.is_some()) else {
            continue;
        };
        let raise = by_name(REQUESTS).and_then(|format| format.raise);
        let raise = raise.ok_or_else(|| anyhow::anyhow!("{REQUESTS} is not written"))?;
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let options = RaiseOptions {
            sources: vec![format.name],
            ..RaiseOptions::default()
        };
        let mut target = raise(&options, &mut files)?;
        traceloom_input::lower(&document, &common.lower_options()?, &mut *target)?;
        target.finish()?;
        drop(target);
        for bytes in files.values() {
            add(&mut sessions, path, bytes)?;
        }
    }
    let has_trace = |session: &AgentSession| {
        let mut posts = session.posts.iter();
        posts.any(|post| matches!(post, AgentPost::Trace(..)))
    };
    if !sessions.iter().any(has_trace) {
        return Err(Usage(format!(
            "{path}: there is no trace that an agent could post"
        ))
        .into());
    }
    Ok(sessions)
}

/// Adds the posts of a request dump. What was refused is left out: its agent sent it again.
fn add(sessions: &mut Vec<AgentSession>, path: &str, dump: &[u8]) -> anyhow::Result<()> {
    let mut offset = 0;
    for line in dump.split_inclusive(|&byte| byte == b'\n') {
        let at = offset;
        offset += line.len() as u64;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let post = Request::parse(at, line)
            .map_err(|reason| anyhow::anyhow!("{path}: {reason} (offset {at:#x})"))?;
        if !post.accepted() {
            continue;
        }
        let generation = if post.header(&["X-ZICO-Session-UUID"]).is_some() {
            AgentGeneration::Zico
        } else if post.header(&["X-Zorka-Session-UUID"]).is_some() {
            AgentGeneration::Registered
        } else {
            AgentGeneration::Current
        };
        let is_trace = post.uri.ends_with("/submit/trc");
        if !is_trace && !post.uri.ends_with("/submit/agd") {
            continue;
        }
        let name = post.session().unwrap_or("0000000000000001").to_owned();
        let (resets, id) = (post.resets(), post.trace_id());
        let known = sessions
            .iter()
            .position(|session| session.generation == generation && session.name == name);
        let known = known.unwrap_or_else(|| {
            sessions.push(AgentSession {
                generation,
                name,
                posts: Vec::new(),
            });
            sessions.len() - 1
        });
        sessions[known].posts.push(match is_trace {
            true => AgentPost::Trace(post.body, id),
            false => AgentPost::Symbols(post.body, resets),
        });
    }
    Ok(())
}
