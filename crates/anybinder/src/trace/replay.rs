//! Recorded requests, sent once more to a service, and its replies compared.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use binder::binder_impl::{FLAG_ONEWAY, IBinderInternal as _, Parcel};
use binder::{SpIBinder, StatusCode, with_timeout};
use binder_trace::{
    CallTracker, DecodedEnd, MethodNames, ReplayRefusal, SendKind, TraceFilter, TraceItem,
    TracedCall, decoded_reply, decoded_request, have_same_answer, replayable, with_answer,
};
use serde::Serialize;

use super::{method_names, recording};
use crate::cli::TraceReplayOptions;
use crate::failure::{Failure, failed};
use crate::inspect::print;
use crate::service;

/// Bytes of data that are shown where types are not known.
const SHOWN_BYTES: usize = 64;

/// The result of a call that was made once more, or why it was not made.
enum ReplayOutcome {
    Equal,
    Different,
    /// A one-way, to which there is no reply.
    Sent,
    /// No reply has come in time.
    Unanswered,
    Refused(ReplayRefusal),
}

/// The answer to a call that was made.
enum ReplayAnswer {
    /// The call with the answer that it has got.
    Came { replayed: Box<TracedCall>, has_objects: bool },
    /// None, in time.
    Overdue,
}

/// How many calls came to what.
#[derive(Debug, Default)]
struct ReplayCounts {
    equal: u64,
    different: u64,
    oneways: u64,
    unanswered: u64,
    /// Those behind one that was not answered.
    not_made: u64,
    refused: BTreeMap<ReplayRefusal, u64>,
}

/// A call in JSON.
#[derive(Serialize)]
struct ReplayLine<'a> {
    kind: &'static str,
    unix_ns: u64,
    interface: Option<&'a str>,
    method: Option<&'a str>,
    code: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<AnswerLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<AnswerLine>,
}

/// An answer in JSON.
#[derive(Serialize)]
struct AnswerLine {
    /// Its values, where their types are known, or a status.
    value: Option<String>,
    data: String,
}

/// The counts in JSON.
#[derive(Serialize)]
struct ReplaySummary {
    kind: &'static str,
    equal: u64,
    different: u64,
    oneways: u64,
    unanswered: u64,
    not_made: u64,
    refused: BTreeMap<&'static str, u64>,
}

pub(super) fn run(options: &TraceReplayOptions) -> Result<ExitCode, Failure> {
    let (service, interface) = with_timeout(options.timeout, || find_service(options))?;
    let methods = method_names(&options.aidl, &options.codes)?;
    let (tracker, calls) = recorded(options, &interface, &methods)?;
    if calls.is_empty() {
        let tried = format!("replaying {}", options.file.display());
        return Err(Failure::new(tried, format!("it has no such call of {interface}")));
    }
    let mut replay = Replay { options, service, methods, tracker, counts: ReplayCounts::default() };
    let mut left = calls.iter();
    // A service that has not answered may still be busy with the call: a further one would not come after it.
    while replay.counts.unanswered == 0
        && let Some(call) = left.next()
    {
        replay.call(call)?;
    }
    replay.counts.not_made = left.len() as u64;
    replay.finish()
}

/// The service to replay against, and its interface.
fn find_service(options: &TraceReplayOptions) -> Result<(SpIBinder, String), Failure> {
    let service = service::require(&options.device, &options.against)?;
    let tried = format!("asking {} for its interface", options.against);
    let interface = service.interface_descriptor().map_err(failed(&tried))?;
    Ok((service, interface))
}

/// The recorded calls of an interface that are wanted, in the order in which they were sent.
fn recorded(
    options: &TraceReplayOptions,
    interface: &str,
    methods: &MethodNames,
) -> Result<(CallTracker, Vec<TracedCall>), Failure> {
    let filter = TraceFilter { methods: options.methods.clone(), ..TraceFilter::default() };
    let is_wanted = |call: &TracedCall, tracker: &CallTracker| {
        call.sent.interface.as_deref() == Some(interface) && filter.wants(call, tracker, methods)
    };
    let (mut tracker, mut calls) = (CallTracker::default(), Vec::new());
    recording::read(&options.file, |record| {
        tracker.take(record, |tracker, item| {
            if let TraceItem::Ended(call) = item
                && is_wanted(&call, tracker)
            {
                calls.push(*call);
            }
        });
        Ok(())
    })?;
    let pending: Vec<_> = tracker.take_pending().collect();
    calls.extend(pending.into_iter().filter(|call| is_wanted(call, &tracker)));
    calls.sort_by_key(|call| call.sent.at_ns);
    calls.truncate(options.limit.unwrap_or(usize::MAX));
    Ok((tracker, calls))
}

struct Replay<'o> {
    options: &'o TraceReplayOptions,
    service: SpIBinder,
    methods: MethodNames,
    tracker: CallTracker,
    counts: ReplayCounts,
}

impl Replay<'_> {
    /// Makes a call once more, and prints its result.
    fn call(&mut self, call: &TracedCall) -> Result<(), Failure> {
        let (outcome, replayed) = match replayable(call) {
            Err(refusal) => (ReplayOutcome::Refused(refusal), None),
            Ok(arguments) => match self.send(call, arguments)? {
                ReplayAnswer::Overdue => (ReplayOutcome::Unanswered, None),
                ReplayAnswer::Came { replayed, has_objects } => {
                    let outcome = if call.sent.kind == SendKind::Oneway {
                        ReplayOutcome::Sent
                    } else if !has_objects && have_same_answer(call, &replayed) {
                        ReplayOutcome::Equal
                    } else {
                        ReplayOutcome::Different
                    };
                    (outcome, Some(replayed))
                }
            },
        };
        self.counts.add(&outcome);
        match (&outcome, &replayed) {
            _ if self.options.json => self.print_json(call, &outcome, replayed.as_deref()),
            (ReplayOutcome::Different, Some(replayed)) => self.print_difference(call, replayed),
            (ReplayOutcome::Unanswered, _) => self.print_call("unanswered", call),
            _ => Ok(()),
        }
    }

    /// Sends the arguments of a call, and waits for the answer.
    fn send(&self, call: &TracedCall, arguments: &[u8]) -> Result<ReplayAnswer, Failure> {
        let begun = Instant::now();
        let answer = with_timeout(self.options.timeout, || self.transact(call, arguments))?;
        // A service may answer with this status, too.
        if answer.as_ref().err() == Some(&StatusCode::TIMED_OUT)
            && begun.elapsed() >= self.options.timeout
        {
            return Ok(ReplayAnswer::Overdue);
        }
        let has_objects = answer.as_ref().is_ok_and(|reply| !reply.objects().is_empty());
        let replayed = with_answer(call, answer.map(|reply| reply.bytes().to_vec()));
        Ok(ReplayAnswer::Came { replayed: Box::new(replayed), has_objects })
    }

    fn transact(
        &self,
        call: &TracedCall,
        arguments: &[u8],
    ) -> Result<Result<Parcel, StatusCode>, Failure> {
        let tried = || format!("preparing a call of {}", self.options.against);
        let mut data =
            self.service.prepare_transact().map_err(|error| Failure::new(tried(), error))?;
        for word in arguments.as_chunks().0 {
            data.write(&u32::from_le_bytes(*word)).map_err(|error| Failure::new(tried(), error))?;
        }
        let flags = if call.sent.kind == SendKind::Oneway { FLAG_ONEWAY } else { 0 };
        Ok(self.service.submit_transact(call.sent.code, data, flags))
    }

    /// Prints the call.
    fn print_call(&self, outcome: &str, call: &TracedCall) -> Result<(), Failure> {
        let naming = self.methods.naming(&call.sent);
        let mut text = format!("{outcome}: {naming}, call {}\n", call.sent.id);
        if let Some(arguments) = decoded_request(call, &self.methods, usize::MAX) {
            text.push_str(&format!("  {arguments}\n"));
        }
        print(&text)
    }

    fn print_difference(&self, call: &TracedCall, replayed: &TracedCall) -> Result<(), Failure> {
        self.print_call("different", call)?;
        let mut text = String::new();
        for (which, call) in [("recorded", call), ("replayed", replayed)] {
            let AnswerLine { value, data } = self.answer(call);
            let bytes = data.len() / 2;
            let shown = data.get(..2 * SHOWN_BYTES).map(|start| format!("{start}..."));
            let words = value.unwrap_or_else(|| format!("{bytes} bytes {}", shown.unwrap_or(data)));
            text.push_str(&format!("  {which} -> {words}\n"));
        }
        print(&text)
    }

    fn print_json(
        &self,
        call: &TracedCall,
        outcome: &ReplayOutcome,
        replayed: Option<&TracedCall>,
    ) -> Result<(), Failure> {
        let naming = self.methods.naming(&call.sent);
        let arguments = decoded_request(call, &self.methods, usize::MAX);
        let is_different = matches!(outcome, ReplayOutcome::Different);
        let replayed = replayed.filter(|_| is_different);
        print_line(&ReplayLine {
            kind: outcome.kind(),
            unix_ns: self.tracker.unix_ns(call.sent.at_ns),
            interface: naming.interface,
            method: naming.method,
            code: naming.code,
            reason: outcome.reason(),
            arguments: arguments.map(|arguments| arguments.to_string()),
            recorded: replayed.map(|_| self.answer(call)),
            replayed: replayed.map(|replayed| self.answer(replayed)),
        })
    }

    /// The answer to a call. Values that are not all there are is, or do not fit their types, are not told.
    fn answer(&self, call: &TracedCall) -> AnswerLine {
        let decoded = decoded_reply(call, &self.methods, usize::MAX)
            .filter(|reply| reply.results().is_none_or(|results| results.end == DecodedEnd::Whole));
        let data = call.reply.as_ref().map(|reply| &*reply.sent.data).unwrap_or_default();
        AnswerLine {
            value: decoded.map(|reply| reply.to_string()),
            data: data.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    fn finish(self) -> Result<ExitCode, Failure> {
        let ReplayCounts { equal, different, oneways, unanswered, not_made, refused } = self.counts;
        let reasons = refused.iter().map(|(refusal, count)| (refusal.words(), *count));
        if self.options.json {
            let refused = reasons.collect();
            let kind = "summary";
            print_line(&ReplaySummary {
                kind,
                equal,
                different,
                oneways,
                unanswered,
                not_made,
                refused,
            })?;
        } else {
            let total: u64 = refused.values().sum();
            let mut text = format!("{equal} equal, {different} different, {total} refused");
            let words: Vec<_> = reasons.map(|(words, count)| format!("{count} {words}")).collect();
            if total > 0 {
                text.push_str(&format!(" ({})", words.join(", ")));
            }
            text.push_str(&format!("; {oneways} one-ways sent"));
            if unanswered > 0 {
                let within = self.options.timeout;
                text.push_str(&format!(
                    "; {unanswered} not answered within {within:?}, {not_made} not made after it"
                ));
            }
            print(&format!("{text}\n"))?;
        }
        // That all were refused shows nothing.
        let is_proven = different + unanswered == 0 && equal + oneways > 0;
        Ok(if is_proven { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl ReplayOutcome {
    fn kind(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::Sent => "sent",
            Self::Unanswered => "unanswered",
            Self::Refused(_) => "refused",
        }
    }

    fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Equal | Self::Different | Self::Sent | Self::Unanswered => None,
            Self::Refused(refusal) => Some(refusal.words()),
        }
    }
}

impl ReplayCounts {
    fn add(&mut self, outcome: &ReplayOutcome) {
        *match outcome {
            ReplayOutcome::Equal => &mut self.equal,
            ReplayOutcome::Different => &mut self.different,
            ReplayOutcome::Sent => &mut self.oneways,
            ReplayOutcome::Unanswered => &mut self.unanswered,
            ReplayOutcome::Refused(refusal) => self.refused.entry(*refusal).or_default(),
        } += 1;
    }
}

fn print_line(line: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(line).map_err(failed("writing JSON"))?;
    print(&format!("{line}\n"))
}
