//! What Zorka's agents post.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A dump of posts of one session with twenty traces.
pub fn dump(folder: &Path) -> PathBuf {
    let mut symbols = Vec::new();
    for (id, name) in (1..).zip(["demo.App", "work", "()V"]) {
        symbols.extend([0xc1, 0x82, id, 0x60 + name.len() as u8]);
        symbols.extend(name.as_bytes());
    }
    symbols.extend([0xc2, 0x84, 1, 1, 2, 3]);
    let session = "00000000000000aa";
    let mut lines = String::new();
    let mut line = |what: &str, headers: Value, body: &[u8]| {
        let post = json!({"uri": format!("/agent/submit/{what}"), "headers": headers, "body": STANDARD.encode(body)});
        lines.push_str(&format!("{post}\n"));
    };
    let reset = json!({"X-Zorka-Session-ID": [session], "X-Zorka-Session-Reset": ["true"]});
    line("agd", reset, &symbols);
    for start in 0..20 {
        let clock = [0, 0, 1, 0xa1, 0xfb, 0xbc, 0x44, 0xf9];
        let mut trace = vec![0xc3, 0x9f, start, 1, 0xc5, 0x82, 0x1b];
        trace.extend(clock);
        trace.extend([1, 0xc4, 0x82, 0x17, 0x01, 0xff]);
        let id = format!("{start:032x}");
        let headers = json!({"X-Zorka-Session-ID": [session], "X-Zorka-Trace-ID": [id]});
        line("trc", headers, &trace);
    }
    let path = folder.join("app.requests.jsonl");
    std::fs::write(&path, lines).expect("a file");
    path
}
