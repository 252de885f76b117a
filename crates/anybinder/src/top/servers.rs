//! The page of RPC servers and their sessions.

use std::collections::HashMap;
use std::time::Instant;

use crate::inspect::{PublishedServer, SessionRecord, servers_tables};

/// The servers at the last look.
#[derive(Default)]
pub(super) struct ServersPage {
    text: String,
    /// How many calls each session had made.
    calls: HashMap<SessionKey, u64>,
    looked: Option<Instant>,
}

/// A session: its process, its server, and its number there.
type SessionKey = (u32, String, u64);

impl ServersPage {
    /// Asks the servers.
    pub(super) fn look(&mut self) {
        self.show(&PublishedServer::all(), Instant::now());
    }

    /// Begins anew.
    pub(super) fn leave(&mut self) {
        *self = Self::default();
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn show(&mut self, servers: &[PublishedServer], now: Instant) {
        let seconds = self.looked.map(|looked| now.saturating_duration_since(looked).as_secs_f64());
        self.text = if servers.is_empty() {
            "No program publishes an RPC server: one does with ANYBINDER_PUBLISH_RPC=1 set.\n"
                .into()
        } else {
            servers_tables(servers, |server, session| self.rate(server, session, seconds))
        };
        let sessions = servers.iter().flat_map(|server| {
            server.record.clients.iter().map(|session| (key_of(server, session), session.calls))
        });
        self.calls = sessions.collect();
        self.looked = Some(now);
    }

    /// The calls of a session in a second since the last look, or since it began if there was none.
    #[expect(clippy::cast_precision_loss, reason = "to be read by people")]
    fn rate(&self, server: &PublishedServer, session: &SessionRecord, seconds: Option<f64>) -> f64 {
        match (self.calls.get(&key_of(server, session)), seconds) {
            (Some(before), Some(seconds)) if seconds > 0.0 => {
                session.calls.saturating_sub(*before) as f64 / seconds
            }
            _ => session.mean_rate(),
        }
    }
}

fn key_of(server: &PublishedServer, session: &SessionRecord) -> SessionKey {
    (server.pid, server.place(), session.number)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn servers(calls: u64) -> [PublishedServer; 1] {
        [PublishedServer::with_session(7, 2_000, calls)]
    }

    #[test]
    fn rates_are_those_since_the_last_look() {
        let (mut page, start) = (ServersPage::default(), Instant::now());
        let rate = |page: &ServersPage| {
            let row = page.text().lines().last().unwrap().to_owned();
            row.split_whitespace().nth(5).unwrap().to_owned()
        };
        page.show(&servers(100), start);
        assert_eq!(rate(&page), "50", "since it began: {}", page.text());
        page.show(&servers(400), start + Duration::from_secs(1));
        assert_eq!(rate(&page), "300", "{}", page.text());
        page.show(&[], start);
        assert!(page.text().contains("ANYBINDER_PUBLISH_RPC=1"));
    }
}
