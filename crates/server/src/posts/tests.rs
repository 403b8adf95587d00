//! Posts where the log has no room.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use traceloom_input::captures::DataFolder;
use traceloom_input::captures::posts::DATAKIT;
use traceloom_log::Refused;

use super::{Post, Posts};
use crate::journal::Journal;
use crate::session_ids::SessionIds;

/// A day: no test waits that long.
const ANY_TIME: Duration = Duration::from_secs(86_400);

/// Posts of a log that takes one post, and no more until sealing got on.
fn posts(data: &DataFolder, patience: Duration) -> (Posts, Arc<Journal>) {
    let (journal, recovered) = Journal::open(data, 10, 1 << 20).expect("a log");
    let journal = Arc::new(journal);
    let ids = Arc::new(SessionIds::new(recovered.incarnation));
    let mut posts = Posts::open(data, journal.clone(), ids, false).expect("no posts");
    posts.patience = patience;
    (posts, journal)
}

async fn keep(posts: &Posts, content: &[u8]) -> Result<(u32, bool), Refused> {
    let post = Post {
        rules: &DATAKIT,
        tenant: "",
        service: "shop",
        version: "",
        kind: "",
        peer: "127.0.0.1:1",
        extension: "http",
        pieces: &[content],
        identity: blake3::hash(content),
    };
    let kept = posts.keep(&post).await?;
    Ok((kept.id.number, kept.repeats))
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime")
}

#[test]
fn a_post_waits_for_room_in_the_log() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = DataFolder::create(&scratch.path().join("data")).expect("a folder");
    let (posts, journal) = posts(&data, ANY_TIME);
    runtime().block_on(async {
        assert_eq!(keep(&posts, b"the first").await, Ok((0, false)));
        let mut second = pin!(keep(&posts, b"the second"));
        tokio::select! {
            biased;
            kept = &mut second => panic!("there is no room: {kept:?}"),
            () = std::future::ready(()) => {}
        }
        journal.caught_up(journal.n_taken());
        assert_eq!(second.await, Ok((1, false)));
    });
}

#[test]
fn a_post_that_finds_no_room_in_time_is_refused_and_not_stored() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = DataFolder::create(&scratch.path().join("data")).expect("a folder");
    let (posts, journal) = posts(&data, Duration::ZERO);
    runtime().block_on(async {
        assert_eq!(keep(&posts, b"the first").await, Ok((0, false)));
        let refused = keep(&posts, b"the second").await;
        assert_eq!(refused, Err(Refused::Full));
        journal.caught_up(journal.n_taken());
        // It is no repeat: nothing of it was stored.
        assert_eq!(keep(&posts, b"the second").await, Ok((1, false)));
    });
}
