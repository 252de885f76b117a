//! The only clock of the driver: a thread that sleeps to the next deadline, and then says so.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::driver::Job;
use crate::session::SessionShared;

/// What the alarm waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setting {
    Off,
    At(Instant),
    End,
}

/// A deadline that somebody is to be told of.
#[derive(Debug)]
pub(crate) struct Alarm {
    setting: Mutex<Setting>,
    changed: Condvar,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { setting: Mutex::new(Setting::Off), changed: Condvar::new() }
    }
}

impl Alarm {
    /// Sets it to the next deadline, if there is one.
    pub(crate) fn set(&self, deadline: Option<Instant>) {
        self.change(deadline.map_or(Setting::Off, Setting::At));
    }

    fn change(&self, to: Setting) {
        if let Ok(mut setting) = self.setting.lock()
            && *setting != Setting::End
            && *setting != to
        {
            *setting = to;
            self.changed.notify_one();
        }
    }

    /// Waits for the deadline, whatever it changes to meanwhile. Whether there was one: the other
    /// is the end.
    fn wait(&self) -> bool {
        let Ok(mut setting) = self.setting.lock() else { return false };
        loop {
            let woken = match *setting {
                Setting::End => return false,
                Setting::Off => self.changed.wait(setting).ok(),
                Setting::At(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        *setting = Setting::Off;
                        return true;
                    }
                    self.changed.wait_timeout(setting, left).ok().map(|(setting, _)| setting)
                }
            };
            match woken {
                Some(again) => setting = again,
                None => return false,
            }
        }
    }
}

/// The thread that sleeps.
pub(crate) struct AlarmThread {
    thread: JoinHandle<()>,
    shared: Arc<SessionShared>,
}

impl AlarmThread {
    /// Starts the alarm of a session.
    pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<Self> {
        let kept = shared.clone();
        let sleep = move || {
            while kept.alarm.wait() {
                kept.submit(Job::EndOverdueFreezes);
            }
        };
        let thread = thread::Builder::new().name("alarm".into()).spawn(sleep)?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.shared.alarm.change(Setting::End);
        if self.thread.join().is_err() {
            tracing::error!("the alarm met a bug");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_sleeps_to_the_deadline_and_no_further() {
        let alarm = Arc::new(Alarm::default());
        let (began, wait) = (Instant::now(), Duration::from_millis(20));
        alarm.set(Some(began + Duration::from_secs(1000)));
        let sleeper = {
            let alarm = alarm.clone();
            thread::spawn(move || alarm.wait())
        };
        alarm.set(Some(began + wait));
        assert_eq!(sleeper.join().ok(), Some(true));
        assert!(began.elapsed() >= wait);
        alarm.change(Setting::End);
        assert!(!alarm.wait());
    }
}
