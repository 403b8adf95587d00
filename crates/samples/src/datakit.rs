//! Uploads to Datakit and requests to Pyroscope.

fn event_json(seed: u64, attachments: &str) -> String {
    format!(
        "{{\"attachments\":[{attachments}],\"tags_profiler\":\"service:shop-{},env:prod,host:node-{}.example.com,\
         language:golang,runtime:go,version:v1.{}\",\"start\":\"2024-08-08T15:47:06.{:09}Z\",\
         \"end\":\"2024-08-08T15:48:06Z\",\"family\":\"golang\",\"format\":\"pprof\",\"version\":\"4\"}}\n",
        seed % 7,
        seed % 40,
        seed % 9,
        seed % 1_000_000_000,
    )
}

/// Makes an `event.json`; it has one size, whatever is asked for.
pub(crate) fn event(seed: u64, _bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(event_json(seed, "\"metrics.json\"").as_bytes());
}

/// Makes an upload with metadata and as many files of Go metrics as `bytes` hold.
pub(crate) fn request(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let file = "[[\"go_num_goroutine\",26],[\"go_gcs_per_sec\",0.5]]";
    let head = "Content-Disposition: form-data; name=";
    let n_files = (bytes / 160).clamp(1, 100_000);
    out(format!("--b{seed:x}\r\n{head}\"event\"; filename=\"event.json\"\r\n\r\n").as_bytes());
    out(event_json(seed, "").as_bytes());
    for at in 0..n_files {
        let name = format!("metrics-{at}.json");
        let part =
            format!("\r\n--b{seed:x}\r\n{head}\"{name}\"; filename=\"{name}\"\r\n\r\n{file}");
        out(part.as_bytes());
    }
    out(format!("\r\n--b{seed:x}--\r\n").as_bytes());
}

/// Makes `/ingest` requests, one after the other as a connection carries them.
pub(crate) fn ingest(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut made = 0;
    let mut at = seed;
    while made < bytes {
        at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let body = format!("main;worker;step-{} {}\n", at % 10, at % 1000);
        let request = format!(
            "POST /ingest?name=shop%7Benv%3Dprod%7D&from={}&until={}&format=folded&spyName=gospy HTTP/1.1\r\n\
             Host: node.example.com\r\nContent-Type: binary/octet-stream\r\nContent-Length: {}\r\n\r\n{body}",
            1_723_000_000 + at % 1000,
            1_723_000_060 + at % 1000,
            body.len()
        );
        made += request.len() as u64;
        out(request.as_bytes());
    }
}

/// Makes a `sample_type_config` of as many value types as `bytes` hold.
pub(crate) fn config(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"alloc_objects\":{\"units\":\"objects\"}");
    for at in 0..bytes / 100 {
        let kind = seed.wrapping_mul(at | 1) % 1_000;
        let row = format!(
            ",\n\"value_{at}\":{{\"units\":\"bytes\",\"display-name\":\"shown_{kind}\",\"aggregation\":\"average\"}}"
        );
        out(row.as_bytes());
    }
    out(b"}\n");
}
