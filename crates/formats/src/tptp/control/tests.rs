use super::*;

const BINARY_ENABLED: &[u8] = b"<enabledOutputFormat><format>binary</format><enabledOutputFormat>";

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn client(binary: bool) -> ClientEnd {
    let data = "127.0.0.1:1718".to_owned();
    ClientEnd::new(&ControlOptions { binary, data }, at(0))
}

fn drain(client: &mut dyn ControlClient) -> String {
    let text = String::from_utf8_lossy(client.output()).into_owned();
    client.sent(text.len());
    text
}

/// Moves bytes between both ends, `piece` at a time, until nothing moves; the agent's owner does what it is told.
fn converse(
    client: &mut ClientEnd,
    agent: &mut AgentEnd,
    piece: usize,
    orders: &mut Vec<ControlOrder>,
) {
    loop {
        let to_agent = client.output().to_vec();
        client.sent(to_agent.len());
        for bytes in to_agent.chunks(piece) {
            for order in agent.read(bytes) {
                match &order {
                    ControlOrder::Start { .. } => agent.started(Ok(())),
                    ControlOrder::End => agent.ended(),
                    _ => {}
                }
                orders.push(order);
            }
        }
        let to_client = agent.output().to_vec();
        agent.sent(to_client.len());
        for bytes in to_client.chunks(piece) {
            client.read(bytes, at(1));
        }
        if to_agent.is_empty() && to_client.is_empty() {
            return;
        }
    }
}

#[test]
fn both_ends_go_from_the_beginning_to_the_end_in_pieces_of_any_size() {
    for piece in [1, 7, 4096] {
        for (binary, format) in [(true, BINARY.name), (false, XML.name)] {
            let (mut client, mut agent) = (client(binary), AgentEnd::default());
            let mut orders = Vec::new();
            converse(&mut client, &mut agent, piece, &mut orders);
            for command in [
                ControlCommand::Pause,
                ControlCommand::Resume,
                ControlCommand::Resume,
                ControlCommand::End,
            ] {
                client.command(command, at(1));
            }
            converse(&mut client, &mut agent, piece, &mut orders);
            let to = "127.0.0.1:1718".to_owned();
            assert_eq!(
                orders,
                [
                    ControlOrder::Start { format, to },
                    ControlOrder::Pause,
                    ControlOrder::Resume,
                    ControlOrder::End
                ]
            );
            assert_eq!(client.ended(), Some(Ok(())));
            let messages: Vec<String> = std::iter::from_fn(|| client.message()).collect();
            assert_eq!(
                messages.get(1..).unwrap(),
                [
                    "the data flow",
                    "paused",
                    "resumed",
                    "the agent refused resumeMonitoring: resumeMonitoring: the data flow",
                    "ended"
                ]
            );
        }
    }
}

#[test]
fn nothing_is_asked_about_the_form_unless_it_is_set() {
    let mut client = client(false);
    let asked = drain(&mut client);
    assert_eq!(
        asked,
        "<startMonitoring><data>127.0.0.1:1718</data></startMonitoring>"
    );
}

#[test]
fn an_old_agent_sends_xml() {
    let mut client = client(true);
    assert_eq!(
        drain(&mut client),
        "<setOutputFormat><format>binary</format></setOutputFormat>"
    );
    client.read(
        b"<error>unrecognized command: setOutputFormat</error>",
        at(1),
    );
    assert!(drain(&mut client).starts_with("<startMonitoring>"));
    let message = client.message().unwrap();
    assert!(message.starts_with("format xml: "), "{message}");
}

#[test]
fn silence_ends_what_is_waited_for() {
    let mut client = client(true);
    drain(&mut client);
    assert_eq!(client.deadline(), Some(negotiate::PATIENCE));
    client.tick(negotiate::PATIENCE);
    assert!(drain(&mut client).starts_with("<startMonitoring>"));
    // The reply comes too late, its end in another piece: it answers nothing that is open.
    client.read(BINARY_ENABLED, at(6));
    client.read(b"nary</format></enabledOutputFormat>", at(6));
    assert_eq!(client.deadline(), Some(negotiate::PATIENCE + PATIENCE));
    client.tick(negotiate::PATIENCE + PATIENCE);
    let reason = "the agent did not answer startMonitoring".to_owned();
    assert_eq!(client.ended(), Some(Err(reason)));
}

#[test]
fn an_agent_that_goes_or_talks_nonsense_is_an_error() {
    let mut gone = client(true);
    gone.closed();
    assert!(gone.ended().unwrap().is_err());
    let mut gone = client(false);
    gone.read(b"<monitoringStarted/>", at(1));
    assert_eq!(gone.deadline(), None);
    gone.closed();
    assert!(gone.ended().unwrap().is_err());
    let mut flooded = client(false);
    flooded.read(&[b'<'; 100_000], at(1));
    assert!(flooded.ended().unwrap().is_err());
    let mut refused = client(false);
    refused.read(b"<error>127.0.0.1:1718: connection refused</error>", at(1));
    let said = "the agent refused startMonitoring: 127.0.0.1:1718: connection refused";
    assert_eq!(refused.ended(), Some(Err(said.to_owned())));
}

#[test]
fn an_agent_may_end_by_itself_and_bounds_what_it_takes() {
    let mut client = client(false);
    client.read(b"<monitoringStarted/><monitoringEnded/>", at(1));
    assert_eq!(client.ended(), Some(Ok(())));

    let mut agent = AgentEnd::default();
    for _ in 0..1_000_000 {
        if agent.is_deaf {
            break;
        }
        assert_eq!(agent.read(b"<stop/>"), []);
    }
    assert!(agent.output().len() <= MOST_OUTPUT && agent.is_deaf);
    let mut agent = AgentEnd::default();
    assert_eq!(agent.read(&[b'<'; 100_000]), []);
    assert_eq!(agent.output(), b"<error>unrecognized command: ?</error>");
    let mut agent = AgentEnd::default();
    assert_eq!(agent.read(b"<startMonitoring/><pauseMonitoring/>"), []);
    let said = String::from_utf8_lossy(agent.output()).into_owned();
    assert_eq!(said.matches("<error>").count(), 2, "{said}");
}
