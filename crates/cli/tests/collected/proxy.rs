//! What stands between a sender and the collector: it keeps what was posted, and may lose answers.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::authority;

/// Which answers to posts are lost. They are read whole before: what was posted is safe, and its sender does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Losing {
    /// The first to each path and body.
    FirstOfEach,
    /// The first, the third and so on: for senders whose bodies change when they try again.
    EverySecond,
}

/// A request as it was sent.
#[derive(Clone)]
pub struct SentRequest {
    pub head: String,
    /// Without the frames of chunks.
    pub body: Vec<u8>,
}

/// Passes requests on, one a connection.
pub struct Proxy {
    /// Where it listens, as `http://HOST:PORT`.
    pub url: String,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Default)]
struct ProxyState {
    posts: Vec<SentRequest>,
    seen: HashSet<u64>,
    n_lost: usize,
}

impl Proxy {
    pub fn start(http: &str, losing: Losing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let to = authority(http).to_owned();
        let state = Arc::<Mutex<ProxyState>>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (to, state) = (to.clone(), shared.clone());
                std::thread::spawn(move || {
                    pass(socket.expect("a connection"), &to, losing, &state);
                });
            }
        });
        Self { url, state }
    }

    /// Returns the number of answers that were lost.
    pub fn n_lost(&self) -> usize {
        self.state.lock().expect("no panic").n_lost
    }

    /// Returns what was posted, whether its answer was lost or not.
    pub fn posts(&self) -> Vec<SentRequest> {
        self.state.lock().expect("no panic").posts.clone()
    }
}

/// Passes one request on, and its answer back unless that is to be lost.
fn pass(sender: TcpStream, to: &str, losing: Losing, state: &Mutex<ProxyState>) {
    let mut sender = BufReader::new(sender);
    let Some(request) = read(&mut sender) else {
        return;
    };
    let Ok(mut collector) = TcpStream::connect(to) else {
        return;
    };
    let framed = match is_chunked(&request.head) {
        false => request.body.clone(),
        true => {
            let size = format!("{:x}\r\n", request.body.len());
            [size.as_bytes(), &request.body, b"\r\n0\r\n\r\n"].concat()
        }
    };
    collector
        .write_all(request.head.as_bytes())
        .expect("it is sent");
    collector.write_all(&framed).expect("it is sent");
    let mut answer = Vec::new();
    collector.read_to_end(&mut answer).expect("an answer");
    let line = request.head.lines().next().unwrap_or_default().to_owned();
    if line.starts_with("POST") && answer.starts_with(b"HTTP/1.1 2") {
        let mut state = state.lock().expect("no panic");
        let mut hasher = DefaultHasher::new();
        (&line, &request.body).hash(&mut hasher);
        let is_new = state.seen.insert(hasher.finish());
        let is_lost = match losing {
            Losing::FirstOfEach => is_new,
            Losing::EverySecond => state.posts.len().is_multiple_of(2),
        };
        state.posts.push(request);
        if is_lost {
            state.n_lost += 1;
            return;
        }
    }
    let _ = sender.get_mut().write_all(&answer);
}

fn is_chunked(head: &str) -> bool {
    head.to_ascii_lowercase()
        .contains("\r\ntransfer-encoding: chunked")
}

/// Reads a request, and has its connection closed behind it; `None` if none comes.
fn read(sender: &mut BufReader<TcpStream>) -> Option<SentRequest> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        sender.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let lower = line.to_ascii_lowercase();
        if let Some(said) = lower.strip_prefix("content-length:") {
            length = said.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            head.push_str("Connection: close\r\n\r\n");
            break;
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    let mut body = vec![0; length];
    sender.read_exact(&mut body).ok()?;
    while is_chunked(&head) {
        let mut line = String::new();
        sender.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).expect("the size of a chunk");
        let begun = body.len();
        body.resize(begun + size + 2, 0);
        sender.read_exact(&mut body[begun..]).ok()?;
        body.truncate(begun + size);
        if size == 0 {
            break;
        }
    }
    Some(SentRequest { head, body })
}
