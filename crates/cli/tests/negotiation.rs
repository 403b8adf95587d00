//! TPTP's negotiation over real connections: the two machines of `traceloom_formats::tptp::negotiate`, each
//! behind a loop that owns a socket, and peers that are slow, silent, gone or something else altogether.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use traceloom_formats::tptp::negotiate::{Act, Client, Profiler, Reason};
use traceloom_formats::tptp::option::Encoding;
use traceloom_formats::{Format, Records, by_name, read_slice};
use traceloom_model::{Level, Limits};

const NEW: (u16, u16) = (4, 5);
const OLD: (u16, u16) = (4, 4);

/// How long clients of these tests wait.
const PATIENCE: Duration = Duration::from_millis(1500);

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

fn connect(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection")
}

/// The client's side of a connection: until it knows what to load.
fn ask(mut stream: TcpStream, mut client: Client) -> (Encoding, Reason) {
    let begun = Instant::now();
    let mut act = client.start(begun.elapsed());
    let mut buffer = [0; 1024];
    loop {
        act = match act {
            Act::Load(_) => return client.outcome().expect("an outcome"),
            Act::Send(text) => match stream.write_all(text.as_bytes()) {
                Ok(()) => Act::Wait,
                Err(_) => client.closed(),
            },
            Act::Wait => {
                let until = client.deadline().expect("a deadline");
                let left = until.saturating_sub(begun.elapsed());
                let least = Duration::from_millis(1);
                stream
                    .set_read_timeout(Some(left.max(least)))
                    .expect("a timeout");
                match stream.read(&mut buffer) {
                    Ok(0) => client.closed(),
                    Ok(n) => client.receive(begun.elapsed(), &buffer[..n]),
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                    {
                        client.tick(begun.elapsed())
                    }
                    Err(_) => client.closed(),
                }
            }
        };
    }
}

/// The profiler's side of a connection: until the client closes it.
fn answer(mut stream: TcpStream, profiler: &mut Profiler) {
    let mut buffer = [0; 1024];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        if let Some(reply) = profiler.receive(&buffer[..n])
            && stream.write_all(reply.as_bytes()).is_err()
        {
            return;
        }
    }
}

fn client() -> Client {
    Client::new(NEW, Encoding::Binary).patient(PATIENCE)
}

/// What a client settles for when `peer` has the other end.
fn against(peer: impl FnOnce(TcpStream) + Send + 'static) -> ((Encoding, Reason), Duration) {
    let (listener, port) = listen();
    let peer = thread::spawn(move || peer(listener.accept().expect("a client").0));
    let begun = Instant::now();
    let outcome = ask(connect(port), client());
    let took = begun.elapsed();
    peer.join().expect("the peer ends");
    (outcome, took)
}

const ENABLED: &str = "<enabledOutputFormat><format>binary</format></enabledOutputFormat>";

/// Reads until the client closes.
fn drain(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    while let Ok(1..) = stream.read(&mut buffer) {}
}

fn trace(format: &Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    (traceloom_samples::by_name(format.name).expect("a generator"))(3, 500_000, &mut |piece| {
        bytes.extend_from_slice(piece)
    });
    bytes
}

/// Every row of the matrix: the form the client loads is the form the profiler sends.
#[test]
fn both_sides_agree_and_the_data_is_read() {
    for (version, profiler, can, wanted, outcome) in [
        (
            OLD,
            OLD,
            false,
            Encoding::Binary,
            (Encoding::Xml, Reason::TooOld),
        ),
        (
            OLD,
            NEW,
            true,
            Encoding::Binary,
            (Encoding::Xml, Reason::TooOld),
        ),
        (
            NEW,
            OLD,
            false,
            Encoding::Binary,
            (Encoding::Xml, Reason::UnknownCommand),
        ),
        (
            NEW,
            NEW,
            true,
            Encoding::Binary,
            (Encoding::Binary, Reason::Enabled),
        ),
        (
            NEW,
            NEW,
            false,
            Encoding::Binary,
            (Encoding::Xml, Reason::Enabled),
        ),
        (
            NEW,
            NEW,
            true,
            Encoding::Xml,
            (Encoding::Xml, Reason::Enabled),
        ),
    ] {
        let (control, port) = listen();
        let (data, data_port) = listen();
        let serving = thread::spawn(move || {
            let mut profiler = Profiler::new(profiler, can);
            answer(control.accept().expect("a client").0, &mut profiler);
            let (mut stream, _) = data.accept().expect("a client");
            let name = match profiler.start() {
                Encoding::Binary => "tptp-binary",
                Encoding::Xml => "tptp-xml",
            };
            let format = by_name(name).expect("a format");
            stream.write_all(&trace(format)).expect("sent");
        });
        let settled = ask(
            connect(port),
            Client::new(version, wanted).patient(PATIENCE),
        );
        assert_eq!(settled, outcome);
        let mut bytes = Vec::new();
        connect(data_port).read_to_end(&mut bytes).expect("a trace");
        serving.join().expect("the profiler ends");
        let name = match settled.0 {
            Encoding::Binary => "tptp-binary",
            Encoding::Xml => "tptp-xml",
        };
        let format = by_name(name).expect("a format");
        let mut read = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut read,
        );
        let worst = read.notes().iter().map(|note| note.level).max();
        assert!(worst < Some(Level::Warn), "{:?}", read.notes());
        assert!(read.kinds().contains(&"method_entry"));
    }
}

#[test]
fn a_slow_profiler_is_waited_for() {
    let (outcome, _) = against(|mut stream| {
        for byte in ENABLED.as_bytes() {
            stream.write_all(&[*byte]).expect("sent");
            thread::sleep(Duration::from_millis(5));
        }
        drain(stream);
    });
    assert_eq!(outcome, (Encoding::Binary, Reason::Enabled));
}

/// The error is another command's and comes in a read of its own.
#[test]
fn an_error_before_the_reply_changes_nothing() {
    let (outcome, _) = against(|mut stream| {
        stream
            .write_all(b"<error>unrecognized command: listAgents</error>")
            .expect("sent");
        thread::sleep(Duration::from_millis(100));
        stream.write_all(ENABLED.as_bytes()).expect("sent");
        drain(stream);
    });
    assert_eq!(outcome, (Encoding::Binary, Reason::Enabled));
}

#[test]
fn a_silent_profiler_means_xml_when_patience_ends() {
    let (outcome, took) = against(drain);
    assert_eq!(outcome, (Encoding::Xml, Reason::Timeout));
    assert!(took >= PATIENCE, "{took:?}");
    let (outcome, _) = against(|mut stream| {
        thread::sleep(PATIENCE + Duration::from_millis(500));
        // Too late: the client has gone on without it.
        let _ = stream.write_all(ENABLED.as_bytes());
    });
    assert_eq!(outcome, (Encoding::Xml, Reason::Timeout));
}

#[test]
fn a_connection_that_ends_means_xml_at_once() {
    let (outcome, took) = against(|mut stream| {
        let mut ask = [0; 20];
        stream.read_exact(&mut ask).expect("a command");
        stream
            .write_all(b"<enabledOutputFormat><for")
            .expect("sent");
    });
    assert_eq!(outcome, (Encoding::Xml, Reason::Silence));
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn a_peer_that_is_no_profiler_means_xml() {
    for said in [
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "\0\u{1}\u{2}binary",
        "<a/><b>binary</b>",
    ] {
        let (outcome, took) = against(move |mut stream| {
            stream.write_all(said.as_bytes()).expect("sent");
            drain(stream);
        });
        assert_eq!(outcome, (Encoding::Xml, Reason::WrongReply), "{said:?}");
        assert!(took < PATIENCE, "{took:?}");
    }
    // Something that never stops talking is left.
    let (outcome, _) = against(
        |mut stream| {
            while stream.write_all(&[b'<'; 1000]).is_ok() {}
        },
    );
    assert_eq!(outcome, (Encoding::Xml, Reason::WrongReply));
}

/// The profiler with clients that are slow, silent, gone, or send what is no command.
#[test]
fn a_profiler_stays_on_xml_until_it_is_asked() {
    let ask = "<setOutputFormat><format>binary</format></setOutputFormat>";
    let flood = "x".repeat(100_000);
    let broken = format!("<{flood}");
    for (sent, pause, form, replies) in [
        (ask, true, Encoding::Binary, ENABLED),
        ("", false, Encoding::Xml, ""),
        (&ask[..30], false, Encoding::Xml, ""),
        (
            "<stop/>",
            false,
            Encoding::Xml,
            "<error>unrecognized command: stop</error>",
        ),
        (
            broken.as_str(),
            false,
            Encoding::Xml,
            "<error>unrecognized command: ?</error>",
        ),
    ] {
        let (listener, port) = listen();
        let serving = thread::spawn(move || {
            let mut profiler = Profiler::new(NEW, true);
            answer(listener.accept().expect("a client").0, &mut profiler);
            profiler.start()
        });
        let mut stream = connect(port);
        let pieces = if pause { 1 } else { 4096 };
        for piece in sent.as_bytes().chunks(pieces) {
            stream.write_all(piece).expect("sent");
            if pause {
                thread::sleep(Duration::from_millis(2));
            }
        }
        stream.shutdown(std::net::Shutdown::Write).expect("closed");
        let mut got = String::new();
        stream.read_to_string(&mut got).expect("replies");
        let name: String = sent.chars().take(20).collect();
        assert!(got.starts_with(replies), "{name}: {got:.200}");
        assert_eq!(got.is_empty(), replies.is_empty(), "{name}: {got:.200}");
        assert_eq!(serving.join().expect("the profiler ends"), form, "{name}");
    }
}
