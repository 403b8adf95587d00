#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::Duration;

use super::*;
use crate::cdt::tcp::Granted;

/// Stores what the session hands out.
#[derive(Default)]
struct Store {
    agents: Vec<(i64, String, String, String)>,
    opened: Vec<(String, u32, bool)>,
    units: Vec<(u32, u64, Vec<u8>)>,
    results: Vec<(Handle, bool)>,
    /// Units that still find room.
    room: Option<usize>,
    unwanted_namespace: &'static str,
}

const GRANTED: Granted = Granted {
    rotation_period: 3_600_000,
    rotation_size: 2 << 20,
    sequence: 4,
};

impl Receiver for Store {
    fn hello(&mut self, hello: &Hello<'_>) -> bool {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (pod, service) = (text(hello.pod), text(hello.service));
        let namespace = text(hello.namespace);
        let wanted = namespace != self.unwanted_namespace;
        self.agents
            .push((hello.client_version, pod, service, namespace));
        wanted
    }

    fn open(&mut self, open: &OpenStream<'_>) -> Option<(Handle, Granted)> {
        let name = String::from_utf8_lossy(open.name).into_owned();
        if name == "unknown" {
            return None;
        }
        self.opened
            .push((name, open.requested_sequence, open.reset));
        Some(([u8::try_from(open.stream + 1).unwrap(); 16], GRANTED))
    }

    fn unit(&mut self, unit: &Unit<'_>) -> bool {
        match &mut self.room {
            Some(0) => return false,
            Some(room) => *room -= 1,
            None => {}
        }
        self.units
            .push((unit.stream, unit.ordinal, unit.bytes.to_vec()));
        true
    }

    fn command_result(&mut self, command: &Handle, succeeded: bool) {
        self.results.push((*command, succeeded));
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Moves what one side has to say to the other; the collector gets `step` bytes at a time.
fn exchange(
    agent: &mut Agent,
    collector: &mut Collector,
    store: &mut Store,
    step: usize,
) -> Vec<String> {
    let mut pending = agent.output().to_vec();
    agent.sent(pending.len());
    let mut shown = 0;
    while shown < pending.len() {
        shown = (shown + step).min(pending.len());
        let used = collector.read(&pending[..shown], seconds(1), store);
        pending.drain(..used);
        shown -= used;
    }
    replies(agent, collector)
}

fn replies(agent: &mut Agent, collector: &mut Collector) -> Vec<String> {
    let mut replies = Vec::new();
    let output = collector.output().to_vec();
    let used = agent
        .read(&output, &mut |reply| replies.push(format!("{reply:?}")))
        .unwrap();
    collector.sent(used);
    assert_eq!(used, output.len(), "answers are sent whole");
    replies
}

fn connected() -> (Agent, Collector, Store) {
    let (mut agent, mut store) = (Agent::default(), Store::default());
    let mut collector = Collector::new(Terms::default(), seconds(0));
    agent.hello(100_705, b"shop-1_1700000000000", b"shop", b"prod");
    agent.open(b"trace", 3, true);
    let replies = exchange(&mut agent, &mut collector, &mut store, 1);
    let opened = Reply::Opened {
        stream: 0,
        granted: GRANTED,
    };
    assert_eq!(
        replies,
        ["Version(100605)".to_owned(), format!("{opened:?}")]
    );
    assert_eq!(store.opened, [("trace".to_owned(), 3, true)]);
    (agent, collector, store)
}

#[test]
fn units_are_acknowledged_in_order_when_they_are_safe() {
    for step in [1, 7, 100_000] {
        let (mut agent, mut collector, mut store) = connected();
        let bytes: Vec<u8> = (0..3_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        assert_eq!(agent.data(0, &bytes), 3);
        agent.flush();
        assert_eq!(
            exchange(&mut agent, &mut collector, &mut store, step),
            [""; 0]
        );
        let stored: Vec<u8> = store.units.iter().flat_map(|unit| unit.2.clone()).collect();
        assert_eq!(stored, bytes);
        assert!(
            store
                .units
                .iter()
                .map(|unit| (unit.0, unit.1))
                .eq([(0, 0), (0, 1), (0, 2)])
        );
        collector.durable(2);
        assert_eq!(
            replies(&mut agent, &mut collector),
            ["Acknowledged", "Acknowledged"]
        );
        collector.durable(3);
        assert_eq!(
            replies(&mut agent, &mut collector),
            ["Acknowledged", "Flushed"]
        );
        assert_eq!((collector.units(), agent.n_unacknowledged()), ((3, 3), 0));
    }
}

#[test]
fn the_answer_to_a_new_stream_waits_for_the_units_before_it() {
    let (mut agent, mut collector, mut store) = connected();
    agent.data(0, b"data");
    agent.open(b"calls", 0, false);
    assert_eq!(
        exchange(&mut agent, &mut collector, &mut store, 1_000),
        [""; 0]
    );
    collector.durable(1);
    let replies = replies(&mut agent, &mut collector);
    assert_eq!(replies[0], "Acknowledged");
    assert!(replies[1].starts_with("Opened { stream: 1"), "{replies:?}");
}

#[test]
fn a_unit_without_room_comes_again() {
    let (mut agent, mut collector, mut store) = connected();
    store.room = Some(1);
    agent.data(0, b"first");
    agent.data(0, b"second");
    let bytes = agent.output().to_vec();
    let used = collector.read(&bytes, seconds(1), &mut store);
    assert_eq!((used, store.units.len()), (26, 1));
    store.room = None;
    assert_eq!(collector.read(&bytes[used..], seconds(2), &mut store), 27);
    assert_eq!(store.units[1], (0, 1, b"second".to_vec()));
}

#[test]
fn a_unit_that_stays_unsafe_is_rejected_before_the_agent_gives_up() {
    let (mut agent, mut collector, mut store) = connected();
    agent.data(0, b"data");
    exchange(&mut agent, &mut collector, &mut store, 1_000);
    assert_eq!(collector.deadline(), Some(seconds(26)));
    collector.tick(seconds(25));
    assert_eq!(collector.closed(), None);
    collector.tick(seconds(26));
    assert_eq!(collector.closed(), Some(&Closed::Stalled));
    assert_eq!(replies(&mut agent, &mut collector), ["Rejected"]);
    collector.durable(1);
    assert_eq!(
        collector.output(),
        [0_u8; 0],
        "nothing is acknowledged after a rejection"
    );
}

#[test]
fn a_flood_of_requests_waits_for_the_unit_before_it() {
    const FLOOD: usize = 100_000;
    let (mut agent, mut collector, mut store) = connected();
    agent.data(0, b"data");
    exchange(&mut agent, &mut collector, &mut store, 1_000);
    for request in [0x08, 0x11] {
        let flood = vec![request; FLOOD];
        let used = collector.read(&flood, seconds(1), &mut store);
        assert!(used < 20_000, "{used} answers are owed");
    }
    collector.durable(1);
    let mut n_left = FLOOD;
    while n_left > 0 {
        let used = collector.read(&vec![0x11; n_left], seconds(1), &mut store);
        assert!(used > 0, "nothing is in the way any more");
        n_left -= used;
    }
}

#[test]
fn a_connection_without_bytes_is_closed() {
    let (_, mut collector, _) = connected();
    assert_eq!(collector.deadline(), Some(seconds(41)));
    collector.tick(seconds(41));
    assert_eq!(collector.closed(), Some(&Closed::Idle));
}

#[test]
fn what_no_agent_sends_is_rejected_after_what_came_before() {
    let unknown_handle = [&[0x02][..], &[7; 16], &[0, 0, 0, 1, 0]].concat();
    let too_long = [&[0x02][..], &[1; 16], &[0, 0, 4, 1]].concat();
    for (bytes, why) in [
        (unknown_handle, "UnknownHandle(92)"),
        (vec![0x63], "unknown command 0x63"),
        (too_long, "data of 1025 bytes"),
    ] {
        let (mut agent, mut collector, mut store) = connected();
        agent.data(0, b"good");
        exchange(&mut agent, &mut collector, &mut store, 1_000);
        collector.read(&bytes, seconds(2), &mut store);
        assert_eq!(
            collector.closed(),
            None,
            "the good unit may still become safe"
        );
        collector.durable(1);
        assert_eq!(collector.output(), [0, 0xff]);
        let closed = format!("{:?}", collector.closed());
        assert!(closed.contains(why), "{closed}");
        assert_eq!(store.units.len(), 1);
    }
}

#[test]
fn diagnostic_commands_go_with_an_acknowledgement_and_their_results_come_back() {
    let (mut agent, mut collector, mut store) = connected();
    collector.send_command([9; 16], "td").unwrap();
    collector.send_command([8; 16], "heap").unwrap();
    agent.data(0, b"data");
    exchange(&mut agent, &mut collector, &mut store, 1_000);
    collector.durable(1);
    let output = collector.output().to_vec();
    collector.sent(output.len());
    let mut commands = Vec::new();
    // Cut within the commands: the rest comes with the next window.
    let used = agent.read(&output[..30], &mut |_| {}).unwrap();
    agent
        .read(&output[used..], &mut |reply| {
            if let Reply::Command { id, word } = reply {
                commands.push((id, word.to_vec()));
            }
        })
        .unwrap();
    assert_eq!(commands, [([8; 16], b"heap".to_vec())]);
    agent.report(&[8; 16], true);
    agent.report(&[9; 16], false);
    exchange(&mut agent, &mut collector, &mut store, 5);
    assert_eq!(store.results, [([8; 16], true), ([9; 16], false)]);
}

#[test]
fn unwanted_namespaces_and_unknown_streams_are_refused_in_the_words_of_the_protocol() {
    let (mut agent, mut store) = (Agent::default(), Store::default());
    store.unwanted_namespace = "test";
    let mut collector = Collector::new(Terms::default(), seconds(0));
    agent.hello(100_605, b"pod", b"service", b"test");
    assert_eq!(
        exchange(&mut agent, &mut collector, &mut store, 9),
        ["Blacklisted"]
    );
    assert_eq!(collector.closed(), Some(&Closed::Blacklisted));

    let (mut agent, mut collector, mut store) = connected();
    agent.open(b"unknown", 0, false);
    assert_eq!(
        exchange(&mut agent, &mut collector, &mut store, 9),
        ["Refused"]
    );
    assert_eq!(collector.closed(), Some(&Closed::StreamRefused));

    let (mut agent, mut store) = (Agent::default(), Store::default());
    let mut collector = Collector::new(Terms::default(), seconds(0));
    agent.open(b"trace", 0, false);
    assert_eq!(
        exchange(&mut agent, &mut collector, &mut store, 9),
        ["Refused"]
    );
}

#[test]
fn legacy_agents_introduce_themselves_with_each_stream() {
    let mut store = Store::default();
    let mut collector = Collector::new(Terms::default(), seconds(0));
    let mut bytes = vec![0x08];
    for _ in 0..2 {
        bytes.push(0x01);
        for text in ["prod", "shop", "shop-1", "gc"] {
            bytes.extend([0, 0, 0, u8::try_from(text.len()).unwrap()]);
            bytes.extend(text.as_bytes());
        }
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(collector.read(&bytes, seconds(0), &mut store), bytes.len());
    assert_eq!(
        store.agents,
        [(100_505, "shop-1".into(), "shop".into(), "prod".into())]
    );
    assert_eq!(store.opened.len(), 2);
    assert_eq!(collector.output().len(), 8 + 2 * 36);
}
