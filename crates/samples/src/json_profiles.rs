//! Profiles that are JSON: of V8, of stackprof, of speedscope, flame graphs and metrics of Go.

/// Makes a CPU profile of V8 with a sample for each eight bytes.
pub(crate) fn cpuprofile(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"scriptId\":\"0\",\"url\":\"\",");
    out(b"\"lineNumber\":-1,\"columnNumber\":-1},\"hitCount\":0,\"children\":[2]},{\"id\":2,\"callFrame\":");
    out(b"{\"functionName\":\"work\",\"scriptId\":\"7\",\"url\":\"work.js\",\"lineNumber\":3,\"columnNumber\":8},");
    let n_samples = (bytes / 8).max(1);
    out(format!(
        "\"hitCount\":{n_samples}}}],\"startTime\":1000,\"endTime\":{},",
        2000 + n_samples * 999
    )
    .as_bytes());
    out(b"\"samples\":[2");
    for _ in 1..n_samples {
        out(b",2");
    }
    out(b"],\"timeDeltas\":[0");
    for at in 1..n_samples {
        out(format!(",{}", seed.wrapping_mul(at) % 999).as_bytes());
    }
    out(b"]}\n");
}

/// Makes a profile of stackprof with a stack for each ten bytes.
pub(crate) fn stackprof(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let n_stacks = (bytes / 10).max(1);
    out(
        format!("{{\"version\":1.2,\"mode\":\"wall\",\"interval\":1000,\"samples\":{n_stacks},")
            .as_bytes(),
    );
    out(b"\"gc_samples\":0,\"missed_samples\":0,\"metadata\":{},\"frames\":{");
    out(b"\"11\":{\"name\":\"Shop#buy\",\"file\":\"shop.rb\",\"line\":3,\"total_samples\":1,\"samples\":0},");
    out(b"\"12\":{\"name\":\"Cart#add\",\"file\":\"cart.rb\",\"line\":9,\"total_samples\":1,\"samples\":1}},");
    out(b"\"raw\":[2,11,12,1");
    for at in 1..n_stacks {
        out(format!(",1,1{},1", 1 + seed.wrapping_mul(at) % 2).as_bytes());
    }
    out(b"]}\n");
}

/// Makes a sampled profile of speedscope with a sample for each twelve bytes.
pub(crate) fn speedscope(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[");
    out(b"{\"name\":\"main\"},{\"name\":\"work\",\"file\":\"work.rs\",\"line\":7},{\"name\":\"wait\"}]},");
    out(b"\"profiles\":[{\"type\":\"sampled\",\"name\":\"main\",\"unit\":\"microseconds\",\"startValue\":0,");
    let n_samples = (bytes / 12).max(1);
    out(b"\"samples\":[[0]");
    for at in 1..n_samples {
        out(format!(",[0,{}]", 1 + seed.wrapping_mul(at) % 2).as_bytes());
    }
    out(b"],\"weights\":[1");
    for at in 1..n_samples {
        out(format!(",{}", seed.wrapping_mul(at) % 1000).as_bytes());
    }
    out(b"],\"endValue\":1000}]}\n");
}

/// Makes a flame graph of Datakit with a frame for each 120 bytes.
pub(crate) fn flame_graph(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let n_frames = (bytes / 120).clamp(1, 1 << 20);
    out(b"{\n    \"unit\": \"ns\",\n    \"available_dimension\": [\"method\", \"package\"],\n");
    out(b"    \"dimension\": \"method\",\n    \"root_frame\": {\"value\": ");
    let value = |at: u64| 1 + seed.wrapping_mul(at | 1) % 997;
    let total: u64 = (0..n_frames).map(value).sum();
    out(format!("{total}, \"method\": \"root\", \"sub_frame\": [").as_bytes());
    for at in 0..n_frames {
        let comma = if at > 0 { "," } else { "" };
        let frame = format!(
            "{comma}\n        {{\"value\": {}, \"method\": \"step{at}\", \"line\": {}, \"sub_frame\": [], \"package\": \"com.acme\"}}",
            value(at),
            at % 500
        );
        out(frame.as_bytes());
    }
    out(b"]}\n}\n");
}

/// Makes a list of Go metrics with one for each 40 bytes.
pub(crate) fn go_metrics(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"[[\"go_num_goroutine\",26]");
    for at in 0..bytes / 40 {
        let value = seed.wrapping_mul(at + 1) % 1_000_003;
        out(format!(",\n [\"go_sample_{at}_per_sec\",{value}.25]").as_bytes());
    }
    out(b"]\n");
}

pub(crate) fn heapprofile(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let frame = |name: &str, line: u64| {
        format!(
            "\"callFrame\":{{\"functionName\":\"{name}\",\"scriptId\":\"7\",\"url\":\"shop.js\",\
             \"lineNumber\":{line},\"columnNumber\":8}}"
        )
    };
    let n_samples = (bytes / 48).max(1);
    let size = |at: u64| 16 + seed.wrapping_add(at) % 512;
    let total: u64 = (0..n_samples).map(size).sum();
    let text = format!(
        "{{\"head\":{{{},\"selfSize\":0,\"id\":1,\"children\":[{{{},\"selfSize\":{total},\"id\":2,\
         \"children\":[]}}]}},\"samples\":[",
        frame("(root)", 0),
        frame("stock", 3)
    );
    out(text.as_bytes());
    for at in 0..n_samples {
        let comma = if at == 0 { "" } else { "," };
        let size = size(at);
        out(format!("{comma}{{\"size\":{size},\"nodeId\":2,\"ordinal\":{at}}}").as_bytes());
    }
    out(b"]}\n");
}
