//! Both machines against each other, and against peers that misbehave.

use super::*;

const OLD: (u16, u16) = (4, 4);
const NEW: (u16, u16) = (4, 5);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Lets both sides talk, in pieces of `piece` bytes, and returns what each of them does.
fn talk(client: &mut Client, profiler: &mut Profiler, piece: usize) -> (Encoding, Encoding) {
    let mut act = client.start(seconds(0));
    loop {
        match act {
            Act::Load(loaded) => return (loaded, profiler.start()),
            Act::Wait => act = client.tick(seconds(60)),
            Act::Send(text) => {
                act = Act::Wait;
                for piece_of in text.as_bytes().chunks(piece) {
                    if let Some(reply) = profiler.receive(piece_of) {
                        for bytes in reply.as_bytes().chunks(piece) {
                            act = client.receive(seconds(1), bytes);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_compatibility_matrix() {
    use Encoding::{Binary, Xml};
    use Reason::{Enabled, TooOld, UnknownCommand};
    for (client, profiler, can, wanted, result, reason) in [
        (OLD, OLD, false, Binary, Xml, TooOld),
        (OLD, NEW, true, Binary, Xml, TooOld),
        (NEW, OLD, false, Binary, Xml, UnknownCommand),
        (NEW, NEW, true, Binary, Binary, Enabled),
        (NEW, NEW, false, Binary, Xml, Enabled),
        (NEW, NEW, true, Xml, Xml, Enabled),
        ((4, 7), (5, 0), true, Binary, Binary, Enabled),
    ] {
        for piece in [1, 7, 1000] {
            let mut one = Client::new(client, wanted);
            let mut other = Profiler::new(profiler, can);
            let row = format!("{client:?} {profiler:?} {can} {wanted:?}");
            assert_eq!(talk(&mut one, &mut other, piece), (result, result), "{row}");
            assert_eq!(one.outcome(), Some((result, reason)), "{row}");
        }
    }
}

fn asked() -> Client {
    let mut client = Client::new(NEW, Encoding::Binary);
    let sent = "<setOutputFormat><format>binary</format></setOutputFormat>";
    assert_eq!(client.start(seconds(100)), Act::Send(sent.to_owned()));
    client
}

#[test]
fn everything_but_a_proper_reply_means_xml() {
    for (reply, at_once, reason) in [
        (
            "<enabledOutputFormat><format>json</format></enabledOutputFormat>",
            true,
            Reason::WrongReply,
        ),
        ("<enabledOutputFormat/>", true, Reason::WrongReply),
        (
            "<error>Unrecognized command setOutputFormat</error>",
            true,
            Reason::UnknownCommand,
        ),
        (
            "<somethingElse><format>binary</format></somethingElse>",
            false,
            Reason::WrongReply,
        ),
        ("hello", false, Reason::WrongReply),
        ("unknown command", false, Reason::UnknownCommand),
        (
            "<error>Unrecognized command</error>",
            false,
            Reason::UnknownCommand,
        ),
    ] {
        let mut client = asked();
        let act = client.receive(seconds(101), reply.as_bytes());
        let load = Act::Load(Encoding::Xml);
        assert_eq!(act == load, at_once, "{reply}");
        assert_eq!(client.tick(seconds(101) + GRACE), load, "{reply}");
        assert_eq!(client.outcome(), Some((Encoding::Xml, reason)), "{reply}");
        let mut client = asked();
        let _ = client.receive(seconds(101), reply.as_bytes());
        assert_eq!(client.closed(), load, "{reply}");
        assert_eq!(client.outcome(), Some((Encoding::Xml, reason)), "{reply}");
    }
    let mut client = asked();
    assert_eq!(client.deadline(), Some(seconds(105)));
    assert_eq!(client.tick(seconds(104)), Act::Wait);
    assert_eq!(client.tick(seconds(105)), Act::Load(Encoding::Xml));
    assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Timeout)));
    // A reply that comes too late changes nothing.
    let late = b"<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
    assert_eq!(client.receive(seconds(106), late), Act::Load(Encoding::Xml));
    let mut client = asked();
    assert_eq!(client.receive(seconds(101), b"<enabledOut"), Act::Wait);
    assert_eq!(client.closed(), Act::Load(Encoding::Xml));
    assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Silence)));
    let mut client = asked();
    let act = client.receive(seconds(101), &[b'<'; 2 * MOST]);
    assert_eq!(act, Act::Load(Encoding::Xml));
}

#[test]
fn the_missing_slash_is_forgiven() {
    let mut client = asked();
    let reply = b"<?xml version=\"1.0\"?>\n<enabledOutputFormat><format> binary <format><enabledOutputFormat>";
    assert_eq!(
        client.receive(seconds(101), reply),
        Act::Load(Encoding::Binary)
    );
    let mut client = asked();
    let reply = b"<enabledOutputFormat><format>xml</format><enabledOutputFormat>";
    assert_eq!(
        client.receive(seconds(101), reply),
        Act::Load(Encoding::Xml)
    );
    assert_eq!(client.outcome(), Some((Encoding::Xml, Reason::Enabled)));
}

#[test]
fn a_profiler_keeps_the_form_of_data_that_flows() {
    let mut profiler = Profiler::new(NEW, true);
    assert_eq!(profiler.start(), Encoding::Xml);
    let ask = b"<setOutputFormat><format>binary</format></setOutputFormat>";
    let enabled = "<enabledOutputFormat><format>xml</format></enabledOutputFormat>";
    assert_eq!(profiler.receive(ask).as_deref(), Some(enabled));
    let other = profiler.receive(b"<stopTracing/>").unwrap();
    assert_eq!(other, "<error>unrecognized command: stopTracing</error>");
}

#[test]
fn errors_about_other_commands_do_not_undo_what_was_enabled() {
    let enabled = "<enabledOutputFormat><format>binary</format></enabledOutputFormat>";
    let long = format!("<list>{}</list>", "x".repeat(MOST - 100)).repeat(3);
    for error in [
        "<error>unrecognized command: x <format>xml</format></error>",
        "<error>Unrecognized command</error>",
        "<ok/>",
        "ready\n",
        long.as_str(),
    ] {
        for reply in [format!("{enabled}{error}"), format!("{error}{enabled}")] {
            // Wherever the reads end.
            for piece in [1, 7, error.len(), enabled.len(), reply.len()] {
                let mut client = asked();
                let mut act = Act::Wait;
                for bytes in reply.as_bytes().chunks(piece) {
                    act = client.receive(seconds(101), bytes);
                }
                assert_eq!(act, Act::Load(Encoding::Binary), "{reply} by {piece}");
            }
        }
    }
}

#[test]
fn every_command_of_one_read_is_answered() {
    let mut profiler = Profiler::new(NEW, true);
    let sent =
        b"<x><format>xml</format></x><setOutputFormat><format>binary</format></setOutputFormat><y";
    let replies = "<error>unrecognized command: x</error>\
                   <enabledOutputFormat><format>binary</format></enabledOutputFormat>";
    assert_eq!(profiler.receive(sent).as_deref(), Some(replies));
    let reply = profiler.receive(b"/>").unwrap();
    assert_eq!(reply, "<error>unrecognized command: y</error>");
}
