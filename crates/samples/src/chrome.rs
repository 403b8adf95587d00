//! Generated traces for laws, fuzzing and benches: two threads, with every phase now and then.

use crate::random::Random;

const NAMES: [&str; 6] = ["checkout", "price", "reserve", "query", "render", "flush"];

/// Makes about `bytes` bytes of a trace.
pub(crate) fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    out(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    out(
        b"{\"ph\":\"M\",\"pid\":7,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"main\"}}",
    );
    let (mut done, mut time, mut open, mut id) = (0, 1_000_u64, 0_u64, 0_u64);
    while done < bytes {
        time += random.number(900);
        let name = usize::try_from(random.number(6)).ok();
        let name = name.and_then(|at| NAMES.get(at)).copied().unwrap_or("main");
        let at = format!(
            "\"pid\":7,\"tid\":1,\"ts\":{}.{:03}",
            time / 1000,
            time % 1000
        );
        let event = match random.number(12) {
            0..3 if open > 0 => {
                open -= 1;
                format!("{{\"ph\":\"E\",{at}}}")
            }
            0..4 => {
                open += 1;
                let order = random.number(1 << 62);
                format!("{{\"ph\":\"B\",{at},\"name\":\"{name}\",\"args\":{{\"order\":{order}}}}}")
            }
            4..6 => {
                let tail = format!("\"dur\":{},\"cat\":\"web\"", random.number(50));
                format!("{{\"ph\":\"X\",{at},\"name\":\"{name}\",{tail}}}")
                    .replace("\"tid\":1", "\"tid\":2")
            }
            6 => format!("{{\"ph\":\"i\",{at},\"name\":\"{name}\",\"s\":\"p\",\"sf\":\"2\"}}"),
            7 => format!(
                "{{\"ph\":\"C\",{at},\"name\":\"queue\",\"args\":{{\"length\":{}}}}}",
                random.number(99)
            ),
            8 => {
                id += 1;
                let pair = format!("{at},\"id\":\"{id:#x}\",\"cat\":\"net\",\"name\":\"{name}\"");
                format!("{{\"ph\":\"b\",{pair}}},\n{{\"ph\":\"e\",{pair}}}")
            }
            9 => format!("{{\"ph\":\"s\",{at},\"id\":{},\"name\":\"go\"}}", time % 5),
            10 => format!(
                "{{\"ph\":\"f\",{at},\"id\":{},\"name\":\"go\",\"bp\":\"e\"}}",
                time % 5
            ),
            _ => format!("{{\"ph\":\"N\",{at},\"id\":\"{time:#x}\",\"name\":\"Cart\"}}"),
        };
        let event = format!(",\n{event}");
        done += event.len() as u64;
        out(event.as_bytes());
    }
    out(b"\n],\"stackFrames\":{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"work\",\"parent\":\"1\"}}}\n");
}
