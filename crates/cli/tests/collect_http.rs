//! The HTTP side of a collector, asked by its own client, by curl, and by clients that do as they like.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use collected::http::{ask, authority, captures, request};
use collected::{Collector, SHOP, command, exported, noise, run, stdout, text};
use serde_json::Value;

/// A recording of one file.
fn streams_file(scratch: &Path) -> PathBuf {
    let file = scratch.join("shop.pb.gz");
    stdout(&[
        "convert",
        SHOP,
        text(&file),
        "--to",
        "pprof",
        "--as-samples",
    ]);
    file
}

#[test]
fn a_pushed_folder_is_read_as_the_folder() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let pushed = run(&[
        "push",
        SHOP,
        "--to",
        &collector.http,
        "--service",
        "shop",
        "--instance",
        "shop-1",
    ]);
    let said = String::from_utf8_lossy(&pushed.stderr);
    assert!(
        pushed.status.success() && said.contains("capture 1-1"),
        "{said}"
    );
    let of = |path: &str| {
        let rows = stdout(&["calls", "--csv", "--columns", "start,duration,title", path]);
        assert!(rows.lines().count() > 50, "{rows}");
        rows
    };
    // While the collector runs, and after it.
    assert_eq!(of(text(&data)), of(SHOP));
    let listed = &captures(&data)[0];
    assert_eq!(
        (
            &listed["protocol"],
            &listed["state"],
            &listed["service"],
            &listed["instance"]
        ),
        (
            &"upload".into(),
            &"complete".into(),
            &"shop".into(),
            &"shop-1".into()
        )
    );
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(of(text(&data)), of(SHOP));
    assert_eq!(
        stdout(&["top", "--csv", text(&data)]),
        stdout(&["top", "--csv", SHOP])
    );
}

#[test]
fn curl_uploads_a_file_and_it_is_there_when_curl_ends() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: no curl");
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let file = streams_file(scratch.path());
    let mut collector = Collector::start(&data, &[]);
    let to = format!("{}/api/v1/upload?name=shop.pb.gz", collector.http);
    let sent = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--fail-with-body",
            "--data-binary",
        ])
        .args([&format!("@{}", file.display()), &to])
        .output()
        .expect("curl runs");
    collector.child.kill().expect("a kill");
    collector.child.wait().expect("an end");
    let body = String::from_utf8_lossy(&sent.stdout).into_owned();
    assert!(
        sent.status.success(),
        "{body} {}",
        String::from_utf8_lossy(&sent.stderr)
    );
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (&body["capture"], &body["complete"]),
        (&"1-1".into(), &true.into())
    );
    let original = std::fs::read(&file).expect("a file");
    assert!(exported(&data, "1-1", "shop.pb.gz") == original);
    assert_eq!(
        stdout(&["top", "--csv", text(&data)]),
        stdout(&["top", "--csv", text(&file)])
    );
    assert!(run(&["check", text(&data)]).status.success());
}

/// Passes connections on to `to`, and cuts each of the first ones after `bytes` bytes from the client.
fn cutting_proxy(to: String, cuts: Vec<usize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut cuts = cuts.into_iter();
        for client in listener.incoming() {
            let Ok(mut client) = client else { return };
            let mut server = TcpStream::connect(&to).expect("the collector");
            let cut = cuts.next();
            let (mut back, mut answers) = (
                client.try_clone().expect("a socket"),
                server.try_clone().expect("a socket"),
            );
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            std::thread::spawn(move || {
                let mut left = cut.unwrap_or(usize::MAX);
                let mut buffer = [0; 8192];
                while left > 0 {
                    let most = left.min(buffer.len());
                    match client.read(&mut buffer[..most]) {
                        Ok(0) | Err(_) => break,
                        Ok(n) => {
                            left -= n;
                            if server.write_all(&buffer[..n]).is_err() {
                                break;
                            }
                        }
                    }
                }
                let _ = server.shutdown(std::net::Shutdown::Both);
                let _ = client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    format!("http://{address}")
}

#[test]
fn a_push_goes_on_where_the_connection_broke() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let folder = scratch.path().join("several");
    std::fs::create_dir(&folder).expect("a folder");
    let files = [
        ("a.bin", noise(1, 3_000_000)),
        ("b.bin", Vec::new()),
        ("c.bin", noise(1, 2_000_000)),
    ];
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    let collector = Collector::start(&data, &[]);
    // The first connection begins the capture, the others are cut in a file, and in a question.
    let cuts = vec![
        usize::MAX,
        1_000_000,
        usize::MAX,
        1_500_000,
        10,
        usize::MAX,
        20_000,
    ];
    let proxy = cutting_proxy(authority(&collector.http).to_owned(), cuts);
    let pushed = run(&["push", text(&folder), "--to", &proxy]);
    let said = String::from_utf8_lossy(&pushed.stderr);
    assert!(
        pushed.status.success() && said.contains("resumed"),
        "{said}"
    );
    let listed = captures(&data);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["state"], "complete");
    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    for (name, bytes) in &files {
        assert!(
            std::fs::read(out.join("several").join(name)).expect("a file") == *bytes,
            "{name}"
        );
    }
}

#[test]
fn what_a_client_was_told_is_safe_is_there_after_a_kill() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &[]);
    let http = collector.http.clone();
    let created = request(
        &http,
        "POST /api/v1/upload?name=x.bin",
        "Upload-Complete: ?0\r\n",
        b"",
    );
    let created = ask(&http, &created);
    assert_eq!(created.status, 201, "{}", created.body);
    assert!(
        created.head.contains("location: /api/v1/upload/1-1"),
        "{}",
        created.head
    );
    let bytes = noise(1, 1 << 20);
    // A body that is longer than what comes of it.
    let host = authority(&http);
    let head = format!(
        "PATCH /api/v1/upload/1-1 HTTP/1.1\r\nHost: {host}\r\nUpload-Offset: 0\r\nContent-Length: 5000000\r\n\r\n"
    );
    let mut socket = TcpStream::connect(host).expect("a connection");
    socket.write_all(head.as_bytes()).expect("a request");
    socket.write_all(&bytes).expect("a part of a body");
    let until = Instant::now() + Duration::from_secs(20);
    let mut safe = 0;
    // Each question takes the upload over from the request that hangs: the first one ends it.
    while safe == 0 {
        assert!(Instant::now() < until, "nothing becomes safe");
        std::thread::sleep(Duration::from_millis(50));
        let told = ask(&http, &request(&http, "HEAD /api/v1/upload/1-1", "", b""));
        assert_eq!(told.status, 204);
        let offset = told
            .head
            .lines()
            .find_map(|line| line.strip_prefix("upload-offset: "));
        safe = offset.expect("an offset").parse().expect("a number");
        if safe == 0 {
            let _ = socket.shutdown(std::net::Shutdown::Both);
            socket = TcpStream::connect(host).expect("a connection");
            socket.write_all(head.as_bytes()).expect("a request");
            socket.write_all(&bytes).expect("a part of a body");
        }
    }
    collector.child.kill().expect("a kill");
    collector.child.wait().expect("an end");
    let kept = exported(&data, "1-1", "x.bin");
    assert!(
        kept.len() >= safe && bytes.starts_with(&kept),
        "{} of {safe}",
        kept.len()
    );
    assert_eq!(captures(&data)[0]["state"], "interrupted");
    // Another start goes on with it where it ended.
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let told = ask(http, &request(http, "HEAD /api/v1/upload/1-1", "", b""));
    assert_eq!(told.status, 204);
    let offset = format!("upload-offset: {}", kept.len());
    assert!(told.head.contains(&offset), "{}", told.head);
    let rest = bytes.get(kept.len()..).expect("the rest of the file");
    let headers = format!("Upload-Offset: {}\r\nUpload-Complete: ?1\r\n", kept.len());
    let told = ask(
        http,
        &request(http, "PATCH /api/v1/upload/1-1", &headers, rest),
    );
    assert!(
        matches!(told.status, 200 | 204),
        "{} {}",
        told.status,
        told.body
    );
    let again = scratch.path().join("again");
    std::fs::create_dir(&again).expect("a folder");
    assert!(exported(&data, "1-1", "x.bin") == bytes, "every byte once");
}

#[test]
fn requests_that_cannot_be_meant_are_refused_with_a_sentence_and_counted() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &["--upload-bytes", "1000"]);
    let http = &collector.http;
    let upload = "POST /api/v1/upload?name=a";
    let open = "Upload-Complete: ?0\r\n";
    assert_eq!(
        ask(http, &request(http, upload, open, b"12345")).status,
        201
    );
    let cases: [(&str, &str, &[u8], u16, &str); 12] = [
        ("POST /api/v1/upload", "", b"", 400, "needs a name"),
        (
            "POST /api/v1/upload?name=a&nmae=b",
            "",
            b"",
            400,
            "`nmae` means nothing here",
        ),
        (upload, "Upload-Complete: yes\r\n", b"", 400, "?1 or ?0"),
        (
            upload,
            "Content-Type: multipart/form-data; boundary=x\r\n",
            b"",
            415,
            "--data-binary",
        ),
        (upload, "", &[0; 1001], 413, "at most 1000 bytes"),
        (
            "PATCH /api/v1/upload/1-1",
            "Upload-Offset: 5\r\n",
            &[0; 1000],
            413,
            "at most 1000",
        ),
        (
            "PATCH /api/v1/upload/1-1",
            "Upload-Offset: 4\r\n",
            b"x",
            409,
            "5 bytes of the file",
        ),
        ("PATCH /api/v1/upload/1-1", "", b"x", 400, "Upload-Offset"),
        (
            "PATCH /api/v1/upload/1-1?file=2&name=b",
            "Upload-Offset: 0\r\n",
            b"x",
            400,
            "next file is 1",
        ),
        (
            "PATCH /api/v1/upload/9-9",
            "Upload-Offset: 0\r\n",
            b"x",
            404,
            "no such upload",
        ),
        ("GET /nothing", "", b"", 404, "there are POST"),
        ("DELETE /api/v1/upload/1-1", "", b"", 405, ""),
    ];
    for (line, headers, body, status, sentence) in cases {
        let answer = ask(http, &request(http, line, headers, body));
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
        assert!(answer.body.contains(sentence), "{line}: {}", answer.body);
    }
    let metrics = ask(http, &request(http, "GET /metrics", "", b""));
    assert!(
        metrics.head.contains("application/openmetrics-text"),
        "{}",
        metrics.head
    );
    for line in [
        "traceloom_refused_total{listener=\"http\",reason=\"too_large\"} 2",
        "traceloom_refused_total{listener=\"http\",reason=\"wrong_offset\"} 1",
        "traceloom_received_bytes_total{listener=\"http\"} 5",
        "traceloom_log_failed 0",
        "# EOF",
    ] {
        assert!(
            metrics.body.lines().any(|one| one == line),
            "{line}: {}",
            metrics.body
        );
    }
    // The end of the upload, by a chunked body.
    let host = authority(http);
    let chunked = format!(
        "PATCH /api/v1/upload/1-1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nUpload-Offset: 5\r\n\
         Transfer-Encoding: chunked\r\n\r\n3\r\n678\r\n0\r\n\r\n"
    );
    let answer = ask(http, chunked.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(exported(&data, "1-1", "a"), b"12345678");
}

#[test]
fn pages_of_other_sites_and_unknown_tokens_are_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let token = stdout(&[
        "token",
        "add",
        "ci",
        "--right",
        "upload",
        "--data",
        text(&data),
    ]);
    let token = token.trim();
    let collector = Collector::start(&data, &["--require-token"]);
    let http = &collector.http;
    let upload = "POST /api/v1/upload?name=a";
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let wrong = "Authorization: Bearer tl_0\r\n".to_owned();
    let cases = [
        ("GET /healthz", String::new(), 200),
        ("GET /readyz", String::new(), 200),
        (
            "GET /healthz",
            "Origin: http://evil.example\r\n".to_owned(),
            403,
        ),
        (upload, String::new(), 401),
        (upload, wrong, 401),
        (upload, bearer.clone(), 201),
        (upload, format!("{bearer}Origin: {http}\r\n"), 201),
        (
            upload,
            format!("{bearer}Origin: http://localhost:1\r\n"),
            403,
        ),
        ("GET /metrics", bearer.clone(), 403),
    ];
    for (line, headers, status) in cases {
        let answer = ask(http, &request(http, line, &headers, b""));
        assert_eq!(answer.status, status, "{line} {headers}: {}", answer.body);
    }
    // A name of another site that leads here.
    let rebound = "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(ask(http, rebound.as_bytes()).status, 403);

    let file = scratch.path().join("ci.token");
    std::fs::write(&file, token).expect("a file");
    let push = |more: &[&str]| run(&[&["push", SHOP, "--to", http], more].concat());
    let refused = push(&[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("needs a token"),
        "{said}"
    );
    assert!(push(&["--token-file", text(&file)]).status.success());
    stdout(&["token", "revoke", "ci", "--data", text(&data)]);
    assert!(!push(&["--token-file", text(&file)]).status.success());
}

#[test]
fn other_machines_are_not_listened_to_without_a_token() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let serve = command(&[
        "serve",
        "--cdt",
        "off",
        "--heph",
        "off",
        "--tptp",
        "off",
        "--otlp-grpc",
        "off",
        "--http",
        "0.0.0.0:0",
        "--data",
        text(&data),
    ])
    .output()
    .expect("the program runs");
    let said = String::from_utf8_lossy(&serve.stderr);
    assert!(
        !serve.status.success() && said.contains("traceloom token add"),
        "{said}"
    );
}

#[test]
fn a_head_that_does_not_end_and_garbage_disturb_nobody() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let http = &collector.http;
    let mut hanging: Vec<_> = (0..50)
        .map(|_| TcpStream::connect(authority(http)).expect("a connection"))
        .collect();
    for socket in &mut hanging {
        socket.write_all(b"POST /api/v1/upl").expect("a beginning");
    }
    let mut garbage = TcpStream::connect(authority(http)).expect("a connection");
    garbage.write_all(&noise(1, 200_000)).ok();
    let answer = ask(
        http,
        &request(http, "POST /api/v1/upload?name=a", "", b"bytes"),
    );
    assert_eq!(answer.status, 201, "{}", answer.body);
    let mut rest = Vec::new();
    let timeout = Some(Duration::from_secs(30));
    hanging[0].set_read_timeout(timeout).expect("a timeout");
    // It is closed, with or without a word.
    let _ = hanging[0].read_to_end(&mut rest);
    assert!(
        hanging[0]
            .write_all(b"x")
            .and_then(|()| hanging[0].write_all(b"x"))
            .is_err()
            || rest.is_empty()
            || rest.starts_with(b"HTTP/1.1 408")
    );
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn dumps_that_agents_put_are_kept_by_their_pod_and_other_paths_are_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let put = |path: &str, body: &[u8]| {
        let line = format!("PUT /diagnostic/{path}");
        ask(&collector.http, &request(&collector.http, &line, "", body))
    };
    let folder = "shop/2026/11/23/09/05/30/cart-7d_1691167327796";
    let dumps = [
        (
            "20261123T090530.td.txt",
            b"2026-11-23 09:05:30\nFull thread dump\n".to_vec(),
        ),
        (
            "20261123T090530.top.txt",
            b"top - 09:05:30 up 1 day\n".to_vec(),
        ),
        ("20261123T090530.hprof.zip", noise(1, 300_000)),
    ];
    for (at, (file, body)) in dumps.iter().enumerate() {
        let answer = put(&format!("{folder}/{file}"), body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        let id = format!("1-{}", at + 1);
        assert!(answer.body.contains(&id), "{}", answer.body);
        let name = format!("shop/cart-7d_1691167327796/{file}");
        let exported = exported(&data, &id, &name);
        assert!(exported == *body, "{file}");
    }
    let kept = captures(&data);
    let pods: Vec<_> = kept.iter().map(|row| row["instance"].as_str()).collect();
    assert_eq!(pods, [Some("cart-7d_1691167327796"); 3]);

    for path in [
        "shop/2026/11/23/09/05/30/cart/20261123T090530.td.txt",
        "shop/2026/11/23/09/05/cart_1/20261123T090530.td.txt",
        "shop/2026/11/23/09/05/30/cart_1/20261123T090530.exe",
        "shop/2026/11/23/09/05/30/..%2F..%2Fcart_1/20261123T090530.td.txt",
        "shop/2026/1a/23/09/05/30/cart_1/20261123T090530.td.txt",
    ] {
        assert_eq!(put(path, b"x").status, 400, "{path}");
    }
    // A name that would climb is a name.
    let answer = put("../2026/11/23/09/05/30/.._1/20261123T090530.td.txt", b"x");
    assert_eq!(answer.status, 201, "{}", answer.body);
    let climbed = exported(&data, "1-4", "_1/20261123T090530.td.txt");
    assert_eq!(climbed, b"x");
    let read_only = stdout(&[
        "token",
        "add",
        "reader",
        "--right",
        "read",
        "--data",
        text(&data),
    ]);
    let header = format!("Authorization: Bearer {}\r\n", read_only.trim());
    let line = format!("PUT /diagnostic/{folder}/20261123T090530.td.txt");
    let answer = ask(
        &collector.http,
        &request(&collector.http, &line, &header, b"x"),
    );
    assert_eq!(answer.status, 403, "{}", answer.body);
}
