//! Why a request ends without having done what it asked, and how it is told.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use traceloom_log::Refused;

use super::{Http, refusal};

/// Why a request ends without having done what it asked.
pub(super) enum Failure {
    /// The collector refuses: a word for counters, the status, and a sentence.
    Refused(&'static str, StatusCode, String),
    /// Nothing is stored any more.
    Storage,
    /// The sender went away, or is too slow.
    Lost(&'static str),
}

impl From<Refused> for Failure {
    fn from(refusal: Refused) -> Self {
        match refusal {
            Refused::Full => {
                let sentence = "the log is full: what came before is not on the disk yet";
                refused("log_full", StatusCode::SERVICE_UNAVAILABLE, sentence)
            }
            Refused::TooLarge | Refused::Ended => Self::Storage,
        }
    }
}

/// Returns a refusal.
pub(super) fn refused(
    reason: &'static str,
    status: StatusCode,
    sentence: impl Into<String>,
) -> Failure {
    Failure::Refused(reason, status, sentence.into())
}

/// Seconds after which a sender may try again.
pub(super) const RETRY_AFTER: &str = "10";

impl Failure {
    /// Returns the word for counters, the status, and the sentence.
    pub(super) fn into_parts(self) -> (&'static str, StatusCode, String) {
        match self {
            Self::Refused(reason, status, sentence) => (reason, status, sentence),
            Self::Storage => {
                let sentence = "the collector cannot store anything now".to_owned();
                ("storage_failed", StatusCode::SERVICE_UNAVAILABLE, sentence)
            }
            Self::Lost(reason) => {
                let sentence = "the rest of the body did not come".to_owned();
                (reason, StatusCode::REQUEST_TIMEOUT, sentence)
            }
        }
    }

    /// Returns the answer in JSON, and counts it.
    pub(super) fn response(self, http: &Http) -> Response {
        let (reason, status, sentence) = self.into_parts();
        http.counts.refused.add(reason);
        with_retry(refusal(status, &sentence))
    }
}

/// Says when to try again, where trying again may help.
pub(super) fn with_retry(mut response: Response) -> Response {
    let later = [
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    if later.contains(&response.status()) {
        let seconds = HeaderValue::from_static(RETRY_AFTER);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_passes_and_a_failed_one_does_not() {
        let parts = |refusal: Refused| Failure::from(refusal).into_parts();
        let (reason, status, sentence) = parts(Refused::Full);
        assert_eq!(
            (reason, status),
            ("log_full", StatusCode::SERVICE_UNAVAILABLE)
        );
        let answer = with_retry(refusal(status, &sentence));
        assert_eq!(answer.headers()[header::RETRY_AFTER], RETRY_AFTER);
        assert_eq!(parts(Refused::Ended).0, "storage_failed");
    }
}
