//! A database that takes points, as far as a collector sees it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// What was posted: the head, and the body.
pub type Posted = (String, String);

/// Listens, and answers posts with these statuses one after the other, then with the last.
pub fn database(statuses: &'static [&'static str]) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (send, posted) = channel();
    std::thread::spawn(move || {
        let last = statuses.last().copied().unwrap_or("204 No Content");
        let mut statuses = statuses.iter().copied();
        for socket in listener.incoming() {
            let mut socket = socket.expect("a connection");
            let mut reader = BufReader::new(socket.try_clone().expect("a socket"));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
            let lower = head.to_lowercase();
            let length = lower.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).expect("a body");
            let status = statuses.next().unwrap_or(last);
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: 0\r\nRetry-After: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = socket.write_all(answer.as_bytes());
            let body = String::from_utf8(body).expect("text");
            if send.send((head, body)).is_err() {
                return;
            }
        }
    });
    (address, posted)
}
