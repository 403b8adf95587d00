//! Call trees as Zorka's agents send them: generation C, which agents speak since December 2019.
//!
//! A [`Registry`] numbers texts and methods. A [`Trace`] records the calls of one request on one thread, and refers to
//! them by number. A [`Session`] turns both into [`Post`]s, for whatever HTTP client the program has: definitions that the
//! collector does not have go before the trace that needs them.
//!
//! ```
//! use std::time::Duration;
//! use traceloom_emit::zorka::{Registry, Session, Trace, Value};
//!
//! let registry = Registry::default();
//! let work = registry.method("demo.App", "work", "()V");
//! let (http, url) = (registry.symbol("HTTP"), registry.symbol("url"));
//!
//! let mut trace = Trace::new(1 << 20, Duration::ZERO);
//! trace.enter(work);
//! trace.begin(1_795_224_782_073, http, None);
//! trace.attribute(url, Value::Text("/orders"));
//! trace.exit();
//!
//! # let send = |_: &traceloom_emit::zorka::Post| 202;
//! let mut session = Session::new(0xaa);
//! let mut posts = session.posts(&registry, &trace, 7);
//! assert_eq!(posts[0].path, "/agent/submit/agd");
//! assert_eq!(posts[1].path, "/agent/submit/trc");
//! for again in 1..10 {
//!     // What a collector answers with 300 or more is sent again, with all definitions and as another trace.
//!     if posts.iter().all(|post| send(post) < 300) {
//!         break;
//!     }
//!     session.refused();
//!     posts = session.posts(&registry, &trace, 7 + again);
//! }
//! ```

mod cbor;
mod posts;
mod registry;
mod session;
mod trace;

pub use posts::PostSender;
pub use registry::{MethodId, Registry, SymbolId};
pub use session::{Post, Session};
pub use trace::{Exception, ExceptionId, StackElement, Trace, Value};
