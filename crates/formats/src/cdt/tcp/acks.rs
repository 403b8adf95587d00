//! Acknowledgements against what they acknowledge: a byte too many or too few that no command shows.

use traceloom_model::Note;

use super::Command;

/// Counts what the collector still has to acknowledge.
///
/// Data and flushes are acknowledged by one byte each, in order, and an agent that asked for a flush
/// reads all that is outstanding before it sends more (§10). A count that is off there is a byte that
/// was swallowed by data, or one that is no acknowledgement.
#[derive(Clone, Default)]
pub(super) struct Acks {
    outstanding: u64,
    /// Acknowledgements in all; a recording of the agent's side alone has none.
    seen: u64,
    flushed: bool,
    /// The count began at zero: at a handshake, or at a flush before.
    counted: bool,
    surplus: bool,
}

impl Acks {
    /// Forgets the count, which begins again at the next flush.
    pub(super) fn lose_count(&mut self) {
        self.counted = false;
    }

    /// Takes a command into account; returns what the count says is wrong.
    pub(super) fn take(&mut self, command: &Command<'_>, offset: u64) -> Option<Note> {
        let mut note = None;
        match command {
            Command::Ack { .. } => {
                self.seen += 1;
                match self.outstanding.checked_sub(1) {
                    Some(left) => self.outstanding = left,
                    None if self.counted && !self.surplus => {
                        self.surplus = true;
                        let text =
                            "an acknowledgement of nothing: a byte was added or changed here";
                        note = Some(crate::warn("surplus_ack", offset, text));
                    }
                    None => {}
                }
                return note;
            }
            Command::RcvData { .. } | Command::RequestAckFlush => {
                note = self.settle(offset);
                self.outstanding += 1;
                self.flushed = matches!(command, Command::RequestAckFlush);
            }
            Command::GetProtocolVersion { .. } | Command::GetProtocolVersionV2 { .. } => {
                self.outstanding = 0;
                self.counted = true;
                self.flushed = false;
            }
            Command::InitStream { .. } => note = self.settle(offset),
            Command::ResetStream | Command::KeepAlive => {
                let text = "a command that no agent sends: a byte was added or changed here";
                note = Some(crate::warn("reserved_command", offset, text));
            }
            Command::ReportCommandResult { .. } | Command::Close => {}
        }
        self.surplus = false;
        note
    }

    /// Compares the counts where everything must be acknowledged: before a request behind a flush.
    fn settle(&mut self, offset: u64) -> Option<Note> {
        if !std::mem::take(&mut self.flushed) || self.seen == 0 {
            return None;
        }
        let missing = std::mem::take(&mut self.outstanding);
        if !std::mem::replace(&mut self.counted, true) || missing == 0 {
            return None;
        }
        let text =
            format!("{missing} acknowledgements are missing: data before holds foreign bytes");
        Some(crate::warn("missing_ack", offset, text))
    }
}
