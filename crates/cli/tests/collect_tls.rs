//! A collector whose listeners speak TLS, with its own senders, with curl, and with clients that it must not take.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use collected::http::captures;
use collected::{Collector, SHOP, eventually, exported, run, stdout, streams, text};

/// Runs openssl, which makes the certificates.
fn openssl(folder: &Path, args: &[&str]) {
    let made = Command::new("openssl")
        .args(args)
        .current_dir(folder)
        .output();
    let made = made.expect("openssl runs");
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{args:?}: {said}");
}

/// A CA, as files that begin with its name.
struct Ca {
    folder: PathBuf,
    name: String,
}

impl Ca {
    fn new(folder: &Path, name: &str) -> Self {
        let (key, out) = (format!("{name}.key"), format!("{name}.pem"));
        let subject = format!("/CN={name}");
        let mut args = vec!["req", "-x509", "-newkey", "ec", "-nodes"];
        args.extend(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]);
        args.extend(["-subj", &subject, "-keyout", &key, "-out", &out]);
        openssl(folder, &args);
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    fn pem(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// Makes a certificate for 127.0.0.1 and its key.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let file = |end: &str| format!("{name}.{end}");
        let (key, request, out) = (file("key"), file("csr"), file("pem"));
        let subject = format!("/CN={name}");
        let mut args = vec!["req", "-newkey", "ec", "-nodes"];
        args.extend([
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-subj",
            &subject,
        ]);
        args.extend(["-addext", "subjectAltName=IP:127.0.0.1"]);
        args.extend(["-keyout", &key, "-out", &request]);
        openssl(&self.folder, &args);
        let (ca, ca_key) = (format!("{}.pem", self.name), format!("{}.key", self.name));
        let extensions = file("ext");
        std::fs::write(
            self.folder.join(&extensions),
            "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n",
        )
        .expect("a file");
        let mut args = vec![
            "x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &ca_key,
        ];
        args.extend(["-CAcreateserial", "-days", "2", "-extfile", &extensions]);
        args.extend(["-out", &out]);
        openssl(&self.folder, &args);
        (self.folder.join(out), self.folder.join(key))
    }
}

/// Asks with curl, which brings a TLS of its own.
fn curl(args: &[&str]) -> (bool, String) {
    let mut command = Command::new("curl");
    command.args(["-sS", "--max-time", "20"]).args(args);
    let answered = command.output().expect("curl runs");
    let said = [answered.stdout, answered.stderr].concat();
    (
        answered.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn metrics(http: &str, ca: &Path) -> String {
    let (answered, said) = curl(&["--cacert", text(ca), &format!("{http}/metrics")]);
    assert!(answered, "{said}");
    said
}

fn assert_refused(args: &[&str], why: &str) {
    let output = run(args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains(why),
        "{args:?}: {said}"
    );
}

#[test]
fn what_is_sent_over_tls_is_what_was_kept_and_others_are_refused() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (
        Ca::new(scratch.path(), "ours"),
        Ca::new(scratch.path(), "theirs"),
    );
    let (certificate, key) = ours.sign("collector");
    let data = scratch.path().join("data");
    let tls = ["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    let collector = Collector::start(&data, &tls);
    let scheme = |url: &str| url.split("://").next().map(str::to_owned);
    assert_eq!(scheme(&collector.url).as_deref(), Some("cdts"));
    let sent = streams(scratch.path());
    let ca = ours.pem();
    stdout(&[
        "send",
        text(&sent),
        "--to",
        &collector.url,
        "--tls-ca",
        text(&ca),
    ]);

    let out = scratch.path().join("out");
    stdout(&["export", "1-1", "--data", text(&data), "-o", text(&out)]);
    let mut compared = 0;
    for stream in [
        "trace",
        "calls",
        "dictionary",
        "sql",
        "xml",
        "suspend",
        "params",
    ] {
        let Ok(original) = std::fs::read(sent.join(stream).join("000001")) else {
            continue;
        };
        let exported = std::fs::read(out.join(stream).join("000001")).expect("a stream");
        assert!(exported == original, "{stream}");
        compared += 1;
    }
    assert!(compared >= 3, "{compared}");

    // The bytes of a conversation in the clear are no handshake: they open no capture.
    let mut plain = TcpStream::connect(collector.address()).expect("a connection");
    plain.write_all(&[0x08; 64]).expect("sent");
    let timeout = Some(Duration::from_secs(20));
    plain.set_read_timeout(timeout).expect("a timeout");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(
        !answer
            .windows(8)
            .any(|eight| eight == 100_505_u64.to_be_bytes())
    );
    assert_refused(
        &[
            "send",
            text(&sent),
            "--to",
            &collector.url,
            "--tls-ca",
            text(&theirs.pem()),
        ],
        "UnknownIssuer",
    );
    assert_refused(
        &[
            "push",
            SHOP,
            "--to",
            &collector.http,
            "--tls-ca",
            text(&theirs.pem()),
        ],
        "UnknownIssuer",
    );
    assert_refused(&["send", text(&sent), "--to", &collector.url], "--tls-ca");
    let pushed = ["push", SHOP, "--to", &collector.http, "--tls-ca", text(&ca)];
    stdout(&pushed);
    let trace = scratch.path().join("shop.heph");
    stdout(&["convert", SHOP, text(&trace), "--to", "heph"]);
    let to_heph = [
        "send",
        text(&trace),
        "--to",
        &collector.heph,
        "--tls-ca",
        text(&ca),
    ];
    stdout(&to_heph);

    let counted = metrics(&collector.http, &ca);
    for listener in ["cdt", "http"] {
        let row =
            format!("traceloom_refused_total{{listener=\"{listener}\",reason=\"tls_handshake\"}}");
        assert!(counted.contains(&row), "{row} is missing in {counted}");
    }
    let listed = captures(&data);
    assert_eq!(listed.len(), 3, "{listed:?}");
    let heph = listed.iter().find(|row| row["protocol"] == "heph");
    let id = heph.and_then(|row| row["id"].as_str());
    let kept = exported(&data, id.expect("a Heph capture"), "trace.heph");
    assert_eq!(std::fs::read(&trace).expect("the trace"), kept);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_sender_without_a_certificate_is_refused_where_one_is_asked_for() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (
        Ca::new(scratch.path(), "ours"),
        Ca::new(scratch.path(), "theirs"),
    );
    let (certificate, key) = ours.sign("collector");
    let data = scratch.path().join("data");
    let ca = ours.pem();
    let mut tls = vec!["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    tls.extend(["--tls-client-ca", text(&ca)]);
    let collector = Collector::start(&data, &tls);
    let sent = streams(scratch.path());
    let send = |identity: Option<&(PathBuf, PathBuf)>| {
        let mut args = vec![
            "send",
            text(&sent),
            "--to",
            &collector.url,
            "--tls-ca",
            text(&ca),
        ];
        if let Some((certificate, key)) = identity {
            args.extend(["--tls-cert", text(certificate), "--tls-key", text(key)]);
        }
        run(&args).status.success()
    };
    let (agent, stranger) = (ours.sign("agent"), theirs.sign("stranger"));
    assert!(!send(None));
    assert!(!send(Some(&stranger)));
    assert_eq!(stdout(&["captures", "ls", "--json", text(&data)]), "");
    assert!(send(Some(&agent)));
    assert_eq!(
        stdout(&["captures", "ls", "--json", text(&data)])
            .lines()
            .count(),
        1
    );

    let url = format!("{}/metrics", collector.http);
    let (answered, said) = curl(&["--cacert", text(&ca), &url]);
    assert!(!answered, "{said}");
    let with = [
        "--cacert",
        text(&ca),
        "--cert",
        text(&agent.0),
        "--key",
        text(&agent.1),
        &url,
    ];
    let (answered, said) = curl(&with);
    assert!(
        answered && said.contains("reason=\"tls_handshake\"} 2"),
        "{said}"
    );
}

#[test]
fn keys_are_read_again_and_those_that_cannot_be_used_change_nothing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (old, new) = (
        Ca::new(scratch.path(), "old"),
        Ca::new(scratch.path(), "new"),
    );
    let (certificate, key) = old.sign("collector");
    let data = scratch.path().join("data");
    let tls = ["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    let collector = Collector::start(&data, &tls);
    assert!(metrics(&collector.http, &old.pem()).contains("\ntraceloom_tls_keys_stale 0"));

    // A key that is another certificate's.
    let fitting = std::fs::read(&key).expect("the key");
    let (new_certificate, new_key) = new.sign("replacement");
    std::fs::copy(&new_key, &key).expect("copied");
    let stale = eventually(|| {
        let said = metrics(&collector.http, &old.pem());
        said.contains("\ntraceloom_tls_keys_stale 1")
            .then_some(said)
    });
    assert!(
        stale.contains("\ntraceloom_tls_reload_failures_total 1"),
        "{stale}"
    );
    let hangup = || {
        let pid = collector.child.id().to_string();
        let asked = Command::new("kill").args(["-HUP", &pid]).status();
        assert!(asked.expect("kill runs").success());
    };
    hangup();
    eventually(|| {
        let said = metrics(&collector.http, &old.pem());
        said.contains("\ntraceloom_tls_reload_failures_total 2")
            .then_some(())
    });
    std::fs::write(&key, fitting).expect("written");
    eventually(|| {
        let said = metrics(&collector.http, &old.pem());
        (said.contains("\ntraceloom_tls_keys_stale 0")
            && said.contains("\ntraceloom_tls_reloads_total 1"))
        .then_some(())
    });

    std::fs::copy(&new_certificate, &certificate).expect("copied");
    std::fs::copy(&new_key, &key).expect("copied");
    let url = format!("{}/healthz", collector.http);
    let trusts = |ca: &Ca| curl(&["--cacert", text(&ca.pem()), &url]).0;
    eventually(|| trusts(&new).then_some(()));
    assert!(!trusts(&old));
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("ALARM: the TLS files cannot be used"),
        "{said}"
    );
    assert!(said.contains("were read again"), "{said}");
}

#[test]
fn off_this_machine_certificates_of_senders_are_credentials() {
    let scratch = tempfile::tempdir().expect("a folder");
    let ca = Ca::new(scratch.path(), "ours");
    let (certificate, key) = ca.sign("collector");
    let data = scratch.path().join("data");
    let pem = ca.pem();
    let tls = ["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    let mutual = [tls.as_slice(), &["--tls-client-ca", text(&pem)]].concat();
    let check = |more: &[&str]| {
        let base = ["serve", "--check-config", "--data", text(&data)];
        let output = run(&[base.as_slice(), more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    for remote in [
        ["--cdt", "0.0.0.0:1715"],
        ["--heph", "0.0.0.0:1716"],
        ["--http", "0.0.0.0:1717"],
    ] {
        let (ok, said) = check(&remote);
        assert!(!ok && said.contains("other machines"), "{said}");
        let (ok, said) = check(&[&remote, tls.as_slice()].concat());
        assert!(!ok && said.contains("other machines"), "{said}");
        assert_eq!(
            check(&[&remote, mutual.as_slice()].concat()),
            (true, String::new())
        );
    }
    // The same keys do not speak for a listener in the clear.
    let plain = [
        ["--cdt", "127.0.0.1:1715,plain:0.0.0.0:1718"].as_slice(),
        &mutual,
    ]
    .concat();
    let (ok, said) = check(&plain);
    assert!(!ok && said.contains("0.0.0.0:1718"), "{said}");
    let (ok, said) = check(&["--cdt", "tls:127.0.0.1:1715"]);
    assert!(!ok && said.contains("--tls-cert"), "{said}");
    let (ok, said) = check(&["--tls-cert", text(&certificate), "--tls-key", text(&pem)]);
    assert!(!ok && said.contains("no PEM private key"), "{said}");
    let settings = scratch.path().join("serve.toml");
    let quoted = |path: &Path| format!("{:?}", text(path));
    let lines = format!(
        "cdt = \"0.0.0.0:1715\"\ntls-cert = {}\ntls-key = {}\ntls-client-ca = {}\n",
        quoted(&certificate),
        quoted(&key),
        quoted(&pem)
    );
    std::fs::write(&settings, lines).expect("written");
    assert_eq!(check(&["--config", text(&settings)]), (true, String::new()));
}
